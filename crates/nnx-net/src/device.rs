//! The device on which a net computes.

use candle_core::Device;
use nnx_params::Devices;

use crate::error::{Error, Result};

/// Opens the first device of that kind.
///
/// # Errors
/// When this build or this computer has no such device.
pub(crate) fn open(device: Devices) -> Result<Device> {
    let (opened, feature) = match device {
        Devices::Cpu => return Ok(Device::Cpu),
        Devices::Cuda => (Device::new_cuda(0), "cuda"),
        Devices::Mps => (Device::new_metal(0), "metal"),
    };
    opened.map_err(|error| {
        Error::unsupported(format!(
            "device `{device}` cannot be used ({error}): build with the feature `{feature}` on a \
             computer that has one, or pass another device to `NNModel::from_checkpoint_on`"
        ))
    })
}
