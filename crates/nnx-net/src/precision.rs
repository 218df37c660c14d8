//! The precision of a model's predictions.

use nnx_params::{Devices, PrecisionFallback, PrecisionMode, PrecisionPolicy};

use crate::error::{Error, Result};

/// The result of a precision policy on a device.
///
/// The older flag `mixed_precision` affects training only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    /// Everything in float32.
    Full,
    /// Some operations of a prediction run in a shorter type, as PyTorch's autocast decides.
    Autocast(PrecisionMode),
}

impl Precision {
    /// Resolves a policy.
    ///
    /// # Errors
    /// When the device does not support the precision, and the policy has no fallback.
    pub(crate) fn from_policy(policy: Option<&PrecisionPolicy>, device: Devices) -> Result<Self> {
        let Some(policy) = policy else {
            return Ok(Self::Full);
        };
        let mode = policy.mode();
        let available = match mode {
            PrecisionMode::Fp32 => return Ok(Self::Full),
            PrecisionMode::Fp16 => device == Devices::Cuda,
            PrecisionMode::Bf16 => device != Devices::Mps,
        };
        if available {
            Ok(Self::Autocast(mode))
        } else if policy.fallback() == PrecisionFallback::Fp32 {
            Ok(Self::Full)
        } else {
            Err(Error::configuration(format!(
                "precision `{mode}` does not run on device `{device}`, and the policy has no \
                 fallback to `fp32`"
            )))
        }
    }
}
