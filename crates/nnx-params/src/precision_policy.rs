//! The requested execution precision.

use std::fmt;

use crate::enums::text_enum;
use crate::fields::{Fields, split_state};
use crate::python_text::repr;
use crate::{Error, Result, State};

text_enum! {
    /// The precision that a model runs in.
    PrecisionMode {
        /// Full precision.
        Fp32 => "fp32",
        /// Automatic float16.
        Fp16 => "fp16",
        /// Automatic bfloat16.
        Bf16 => "bf16",
    }
}

text_enum! {
    /// What happens on a device that cannot run the precision.
    PrecisionFallback {
        /// Refuse, the default.
        Error => "error",
        /// Run in full precision.
        Fp32 => "fp32",
    }
}

/// The requested execution precision and what happens where a device cannot run it.
///
/// ```
/// use nnx_params::{PrecisionFallback, PrecisionMode, PrecisionPolicy};
///
/// let policy = PrecisionPolicy::new(PrecisionMode::Bf16, PrecisionFallback::Error);
/// assert_eq!(policy.to_string(), "PrecisionPolicy(mode='bf16', fallback='error')");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrecisionPolicy {
    mode: PrecisionMode,
    fallback: PrecisionFallback,
}

impl PrecisionPolicy {
    /// The Python class.
    pub const CLASS: &'static str = "PrecisionPolicy";

    /// The fields in the order of declaration, in which a pickle lists them.
    pub const FIELDS: &'static [&'static str] = &["mode", "fallback"];

    /// A policy of a mode and a fallback.
    pub fn new(mode: PrecisionMode, fallback: PrecisionFallback) -> Self {
        Self { mode, fallback }
    }

    /// Builds from the constructor's arguments, an enum being its text.
    ///
    /// # Errors
    ///
    /// A field is unexpected or outside its domain.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let mode = match fields.given("mode") {
            None => PrecisionMode::Fp32,
            Some(value) => PrecisionMode::from_value(Self::CLASS, "mode", value)?,
        };
        let fallback = match fields.given("fallback") {
            None => PrecisionFallback::Error,
            Some(value) => PrecisionFallback::from_value(Self::CLASS, "fallback", value)?,
        };
        Ok(Self { mode, fallback })
    }

    /// Builds from what [`state`](Self::state) returns; unknown keys are refused, as Python does.
    ///
    /// # Errors
    ///
    /// The mode is missing, there is an unknown key, or a value is outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let (known, unknown) = split_state(Self::CLASS, state, &[], Self::FIELDS)?;
        if let Some((key, value)) = unknown.iter().next() {
            let domain = "absent, as it is no key of this class";
            return Err(Error::invalid(Self::CLASS, key, domain, value));
        }
        if !known.contains_key("mode") {
            return Err(Error::missing_key(Self::CLASS, "mode"));
        }
        Self::from_fields(&known)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = State::from_iter([("mode", self.mode)]);
        if self.fallback != PrecisionFallback::Error {
            state.insert("fallback", self.fallback);
        }
        state
    }

    /// The precision.
    pub fn mode(&self) -> PrecisionMode {
        self.mode
    }

    /// What happens on a device that cannot run the precision.
    pub fn fallback(&self) -> PrecisionFallback {
        self.fallback
    }
}

/// Writes Python's `str`.
impl fmt::Display for PrecisionPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = repr(&self.mode.into());
        let fallback = repr(&self.fallback.into());
        write!(f, "PrecisionPolicy(mode={mode}, fallback={fallback})")
    }
}
