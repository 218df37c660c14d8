//! The parameters of registered optimizers.

use std::fmt;

use crate::fields::{Fields, keeps_unknown, mapping, setters, split_state};
use crate::optim_settings::{OptimSettings, check_group_states, optim_getters, optim_setters};
use crate::python_text::{repr, scientific};
use crate::{NNParamGroupSpec, Number, OptimizerFactorySpec, Result, State};

/// The parameters of an optimizer that a Python program registered.
///
/// ```
/// use nnx_params::{NNOptimFactoryParams, OptimizerFactorySpec, State};
///
/// let factory = OptimizerFactorySpec::new("my.opt", 2, State::new())?;
/// let params = NNOptimFactoryParams::builder(factory, 0.1).build()?;
/// assert_eq!(params.weight_decay().as_f64(), 0.0);
/// # Ok::<(), nnx_params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NNOptimFactoryParams {
    factory: OptimizerFactorySpec,
    settings: OptimSettings,
    unknown: State,
}

impl NNOptimFactoryParams {
    /// The Python class.
    pub const CLASS: &'static str = "NNOptimFactoryParams";

    /// The fields in the order of declaration, in which a pickle lists them.
    pub const FIELDS: &'static [&'static str] = &[
        "factory",
        "max_lr",
        "weight_decay",
        "grad_clip_norm",
        "accumulate_grad_batches",
        "param_groups",
    ];

    /// Starts from the factory and the learning rate.
    pub fn builder(
        factory: OptimizerFactorySpec,
        max_lr: impl Into<Number>,
    ) -> NNOptimFactoryParamsBuilder {
        let mut fields = State::from_iter([("factory", factory.full_state())]);
        fields.insert("max_lr", max_lr.into());
        NNOptimFactoryParamsBuilder { fields }
    }

    /// Builds from the constructor's arguments, a nested object being its state.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let factory = mapping(Self::CLASS, "factory", fields.required("factory")?)?;
        Ok(Self {
            factory: OptimizerFactorySpec::from_state(factory)?,
            settings: OptimSettings::from_fields(&fields, Some(0.0))?,
            unknown: State::new(),
        })
    }

    /// Builds from what [`state`](Self::state) returns.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let required = ["factory", "max_lr"];
        let (known, unknown) = split_state(Self::CLASS, state, &required, Self::FIELDS)?;
        check_group_states(&known)?;
        let mut params = Self::from_fields(&known)?;
        params.unknown = unknown;
        Ok(params)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        self.state_with(self.factory.state(), NNParamGroupSpec::state)
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown), those of the
    /// nested objects included.
    pub fn full_state(&self) -> State {
        self.state_with(self.factory.full_state(), NNParamGroupSpec::full_state)
            .followed_by(&self.unknown)
    }

    fn state_with(&self, factory: State, group_state: fn(&NNParamGroupSpec) -> State) -> State {
        let mut state = State::from_iter([("factory", factory)]);
        state.insert("max_lr", self.settings.max_lr);
        state.insert("weight_decay", self.settings.weight_decay);
        self.settings.add_optional(&mut state, group_state);
        state
    }

    keeps_unknown!();

    /// The factory.
    pub fn factory(&self) -> &OptimizerFactorySpec {
        &self.factory
    }

    optim_getters!();
}

/// Writes Python's `str`.
impl fmt::Display for NNOptimFactoryParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[factory={}, max_lr={}, weight_decay={}, grad_clip={}, accum={}]",
            self.factory,
            scientific(self.settings.max_lr.as_f64(), 0),
            scientific(self.settings.weight_decay.as_f64(), 0),
            repr(&self.settings.grad_clip_norm.into()),
            self.settings.accumulate_grad_batches
        )
    }
}

/// Collects the fields of [`NNOptimFactoryParams`]; see [`NNOptimFactoryParams::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct NNOptimFactoryParamsBuilder {
    fields: State,
}

impl NNOptimFactoryParamsBuilder {
    optim_setters!();

    setters! {
        /// The weight decay. Default: 0.0.
        weight_decay: impl Into<Number> as Number,
    }

    /// Builds the parameters.
    ///
    /// # Errors
    ///
    /// As [`NNOptimFactoryParams::from_fields`].
    pub fn build(self) -> Result<NNOptimFactoryParams> {
        NNOptimFactoryParams::from_fields(&self.fields)
    }
}
