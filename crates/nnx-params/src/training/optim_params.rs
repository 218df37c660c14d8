//! The parameters of any optimizer.

use std::fmt;

use crate::class::FieldType;
use crate::error::Result;
use crate::training::nn_optim_factory_params::NNOptimFactoryParams;
use crate::training::nn_optim_params::NNOptimParams;
use crate::value::{State, Value};

/// The parameters of an optimizer, built-in or registered.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OptimParams {
    /// A built-in optimizer.
    BuiltIn(NNOptimParams),
    /// An optimizer that a Python program registered.
    Factory(NNOptimFactoryParams),
}

impl OptimParams {
    /// Builds the class that wrote a state: the key `factory` tells a registered optimizer.
    ///
    /// # Errors
    ///
    /// A key of that class is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        if state.contains_key("factory") {
            NNOptimFactoryParams::from_state(state).map(Self::Factory)
        } else {
            NNOptimParams::from_state(state).map(Self::BuiltIn)
        }
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        match self {
            Self::BuiltIn(params) => params.state(),
            Self::Factory(params) => params.state(),
        }
    }

    /// [`state`](Self::state) with the keys that this version does not know.
    pub fn full_state(&self) -> State {
        match self {
            Self::BuiltIn(params) => params.full_state(),
            Self::Factory(params) => params.full_state(),
        }
    }

    /// The Python class of the parameters.
    pub fn class(&self) -> &'static str {
        match self {
            Self::BuiltIn(_) => NNOptimParams::CLASS,
            Self::Factory(_) => NNOptimFactoryParams::CLASS,
        }
    }
}

impl FieldType for OptimParams {
    fn to_value(&self, full: bool) -> Value {
        match self {
            Self::BuiltIn(params) => params.to_value(full),
            Self::Factory(params) => params.to_value(full),
        }
    }
}

/// Writes Python's `str`.
impl fmt::Display for OptimParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn(params) => params.fmt(f),
            Self::Factory(params) => params.fmt(f),
        }
    }
}

impl From<NNOptimParams> for OptimParams {
    fn from(params: NNOptimParams) -> Self {
        Self::BuiltIn(params)
    }
}

impl From<NNOptimFactoryParams> for OptimParams {
    fn from(params: NNOptimFactoryParams) -> Self {
        Self::Factory(params)
    }
}
