//! Converts arrays from files to tensors that a net accepts.

use nnx::checkpoint::{Dtype, Tensor as CheckpointTensor};
use nnx::net::candle_core::{DType, Device, Tensor};

use super::failures::unsupported;
use crate::failure::Failure;

/// The elements without a change of value; integers for which candle has no dtype become int64.
pub(super) fn tensor(stored: &CheckpointTensor) -> Result<Tensor, Failure> {
    let integers: Vec<i64> = match stored.dtype() {
        Dtype::Bool => elements(stored, u8::from_le_bytes, |value| {
            Some(i64::from(value != 0))
        })?,
        Dtype::Int8 => elements(stored, i8::from_le_bytes, |value| Some(value.into()))?,
        Dtype::UInt16 => elements(stored, u16::from_le_bytes, |value| Some(value.into()))?,
        Dtype::UInt64 => elements(stored, u64::from_le_bytes, |value| value.try_into().ok())?,
        _ => return Ok(Tensor::try_from(stored)?),
    };
    Tensor::from_vec(integers, stored.shape(), &Device::Cpu).map_err(computing)
}

fn elements<T, const N: usize>(
    stored: &CheckpointTensor,
    read: impl Fn([u8; N]) -> T,
    widen: impl Fn(T) -> Option<i64>,
) -> Result<Vec<i64>, Failure> {
    let bytes = stored.to_bytes()?;
    let (values, _) = bytes.as_chunks::<N>();
    let values: Option<Vec<i64>> = values.iter().map(|bytes| widen(read(*bytes))).collect();
    values.ok_or_else(|| unsupported("integers beyond int64 are not read"))
}

/// Numbers for a net: floats of any width become float32, as weights do. Other dtypes are not
/// changed, and the net reports which ones it accepts.
pub(super) fn numbers(tensor: Tensor) -> Result<Tensor, Failure> {
    if tensor.dtype().is_float() {
        tensor.to_dtype(DType::F32).map_err(computing)
    } else {
        Ok(tensor)
    }
}

/// Token ids, edges or classes: integers of any width become int64. Other dtypes are not changed.
pub(super) fn integers(tensor: Tensor) -> Result<Tensor, Failure> {
    if tensor.dtype().is_int() {
        tensor.to_dtype(DType::I64).map_err(computing)
    } else {
        Ok(tensor)
    }
}

/// An error of the tensor library.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what `map_err` hands over"
)]
pub(super) fn computing(error: nnx::net::candle_core::Error) -> Failure {
    Failure::new("unsupported", error.to_string())
}
