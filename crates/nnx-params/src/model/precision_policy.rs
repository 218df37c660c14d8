//! The requested execution precision.

use std::fmt;

use crate::class::{Closed, defaulted, python_class, text_enum};
use crate::error::Result;
use crate::repr::repr;
use crate::value::State;

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
    /// The fallback on a device that cannot run the precision.
    PrecisionFallback {
        /// Refuse, the default.
        Error => "error",
        /// Run in full precision.
        Fp32 => "fp32",
    }
}

python_class! {
    class {
        /// The requested execution precision, and the fallback on a device that cannot run it.
        ///
        /// ```
        /// use nnx_params::{PrecisionFallback, PrecisionMode, PrecisionPolicy};
        ///
        /// let policy = PrecisionPolicy::new(PrecisionMode::Bf16, PrecisionFallback::Error);
        /// assert_eq!(policy.to_string(), "PrecisionPolicy(mode='bf16', fallback='error')");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        PrecisionPolicy { closed: Closed } in "nnx.precision";
        required: &["mode"];
    }
    fields {
        /// The precision.
        mode: PrecisionMode => PrecisionMode =
            defaulted(PrecisionMode::from_value, PrecisionMode::Fp32).always();
        /// The fallback on a device that cannot run the precision.
        fallback: PrecisionFallback => PrecisionFallback =
            defaulted(PrecisionFallback::from_value, PrecisionFallback::Error);
    }
}

impl PrecisionPolicy {
    /// A policy of a mode and a fallback.
    pub fn new(mode: PrecisionMode, fallback: PrecisionFallback) -> Self {
        Self {
            closed: Closed,
            mode,
            fallback,
        }
    }

    /// Builds from the result of [`state`](Self::state); unknown keys are refused, as Python does.
    ///
    /// # Errors
    ///
    /// The mode is missing, there is an unknown key, or a value is outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        crate::class::from_state(state)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        crate::class::state_of(self, false)
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
