//! The learning rate of a group of weights.

use std::fmt;

use crate::fields::{Fields, NOT_NEGATIVE, POSITIVE, keeps_unknown, setters, split_state};
use crate::python_text::repr;
use crate::{Error, Number, Result, State};

/// The learning rate and weight decay of the weights whose names match a pattern.
///
/// ```
/// use nnx_params::NNParamGroupSpec;
///
/// let group = NNParamGroupSpec::builder("*.bias").weight_decay(0.0).build()?;
/// assert_eq!(group.name_pattern(), "*.bias");
/// # Ok::<(), nnx_params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NNParamGroupSpec {
    name_pattern: String,
    lr: Option<Number>,
    lr_multiplier: Option<Number>,
    weight_decay: Option<Number>,
    unknown: State,
}

impl NNParamGroupSpec {
    /// The Python class.
    pub const CLASS: &'static str = "NNParamGroupSpec";

    /// The fields in the order of declaration, in which a pickle lists them.
    pub const FIELDS: &'static [&'static str] =
        &["name_pattern", "lr", "lr_multiplier", "weight_decay"];

    /// Starts from a pattern of dotted names in the style of a shell, told by letter case.
    pub fn builder(name_pattern: &str) -> NNParamGroupSpecBuilder {
        NNParamGroupSpecBuilder {
            fields: State::from_iter([("name_pattern", name_pattern)]),
        }
    }

    /// Builds from the constructor's arguments.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain, or both a learning
    /// rate and a multiplier are given.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let name_pattern = fields.text("name_pattern")?;
        if !fields.get("lr").is_none() && !fields.get("lr_multiplier").is_none() {
            let domain = "None beside an `lr_multiplier`";
            return Err(Error::invalid(Self::CLASS, "lr", domain, fields.get("lr")));
        }
        Ok(Self {
            name_pattern,
            lr: fields.optional_finite("lr", &POSITIVE)?,
            lr_multiplier: fields.optional_finite("lr_multiplier", &POSITIVE)?,
            weight_decay: fields.optional_finite("weight_decay", &NOT_NEGATIVE)?,
            unknown: State::new(),
        })
    }

    /// Builds from what [`state`](Self::state) returns.
    ///
    /// # Errors
    ///
    /// The pattern is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let (known, unknown) = split_state(Self::CLASS, state, &["name_pattern"], Self::FIELDS)?;
        let mut group = Self::from_fields(&known)?;
        group.unknown = unknown;
        Ok(group)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = State::from_iter([("name_pattern", self.name_pattern.as_str())]);
        for (field, value) in self.numbers() {
            if let Some(value) = value {
                state.insert(field, value);
            }
        }
        state
    }

    fn numbers(&self) -> [(&'static str, Option<Number>); 3] {
        [
            ("lr", self.lr),
            ("lr_multiplier", self.lr_multiplier),
            ("weight_decay", self.weight_decay),
        ]
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown).
    pub fn full_state(&self) -> State {
        self.state().followed_by(&self.unknown)
    }

    keeps_unknown!();

    /// The pattern of the names.
    pub fn name_pattern(&self) -> &str {
        &self.name_pattern
    }

    /// The learning rate.
    pub fn lr(&self) -> Option<Number> {
        self.lr
    }

    /// The learning rate in multiples of the optimizer's.
    pub fn lr_multiplier(&self) -> Option<Number> {
        self.lr_multiplier
    }

    /// The weight decay.
    pub fn weight_decay(&self) -> Option<Number> {
        self.weight_decay
    }
}

/// Writes Python's `str`.
impl fmt::Display for NNParamGroupSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name_pattern = repr(&self.name_pattern.as_str().into());
        write!(f, "NNParamGroupSpec(name_pattern={name_pattern}")?;
        for (field, value) in self.numbers() {
            write!(f, ", {field}={}", repr(&value.into()))?;
        }
        f.write_str(")")
    }
}

/// Collects the fields of [`NNParamGroupSpec`]; see [`NNParamGroupSpec::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct NNParamGroupSpecBuilder {
    fields: State,
}

impl NNParamGroupSpecBuilder {
    setters! {
        /// The learning rate. Default: the optimizer's.
        lr: impl Into<Number> as Number,
        /// The learning rate in multiples of the optimizer's. Default: 1.
        lr_multiplier: impl Into<Number> as Number,
        /// The weight decay. Default: the optimizer's.
        weight_decay: impl Into<Number> as Number,
    }

    /// Builds the group.
    ///
    /// # Errors
    ///
    /// As [`NNParamGroupSpec::from_fields`].
    pub fn build(self) -> Result<NNParamGroupSpec> {
        NNParamGroupSpec::from_fields(&self.fields)
    }
}
