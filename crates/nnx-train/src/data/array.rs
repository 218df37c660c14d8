//! Converts arrays from files to tensors that a net accepts.

use candle_core::{DType, Device, Tensor};
use nnx_checkpoint::Dtype;

use crate::error::{Error, Result};

/// The elements without a change of value; integers for which candle has no dtype become int64.
///
/// # Errors
/// When candle has no such dtype, or an integer is beyond int64.
pub(super) fn tensor(stored: &nnx_checkpoint::Tensor) -> Result<Tensor> {
    let integers: Vec<i64> = match stored.dtype() {
        Dtype::Bool => elements(stored, u8::from_le_bytes, |value| {
            Some(i64::from(value != 0))
        })?,
        Dtype::Int8 => elements(stored, i8::from_le_bytes, |value| Some(value.into()))?,
        Dtype::UInt16 => elements(stored, u16::from_le_bytes, |value| Some(value.into()))?,
        Dtype::UInt64 => elements(stored, u64::from_le_bytes, |value| value.try_into().ok())?,
        _ => return Ok(Tensor::try_from(stored)?),
    };
    Ok(Tensor::from_vec(integers, stored.shape(), &Device::Cpu)?)
}

fn elements<T, const N: usize>(
    stored: &nnx_checkpoint::Tensor,
    read: impl Fn([u8; N]) -> T,
    widen: impl Fn(T) -> Option<i64>,
) -> Result<Vec<i64>> {
    let bytes = stored.to_bytes()?;
    let (values, _) = bytes.as_chunks::<N>();
    let values: Option<Vec<i64>> = values.iter().map(|bytes| widen(read(*bytes))).collect();
    values.ok_or_else(|| Error::unsupported("integers beyond int64 are not read"))
}

/// Numbers for a net: floats of any width become float32, as weights do. Other dtypes are not
/// changed, and the net reports which ones it accepts.
///
/// # Errors
/// When candle fails.
pub(super) fn numbers(tensor: &Tensor) -> Result<Tensor> {
    if tensor.dtype().is_float() {
        Ok(tensor.to_dtype(DType::F32)?)
    } else {
        Ok(tensor.clone())
    }
}

/// Token ids, edges or classes: integers of any width become int64. Other dtypes are not changed.
///
/// # Errors
/// When candle fails.
pub(super) fn integers(tensor: &Tensor) -> Result<Tensor> {
    if tensor.dtype().is_int() {
        Ok(tensor.to_dtype(DType::I64)?)
    } else {
        Ok(tensor.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dtype: Dtype, bytes: &[u8], expected: &[i64]) {
        let stored =
            nnx_checkpoint::Tensor::from_bytes(dtype, &[expected.len()], bytes.to_vec()).unwrap();
        let tensor = tensor(&stored).unwrap();
        assert_eq!(tensor.to_vec1::<i64>().unwrap(), expected);
    }

    #[test]
    fn integers_that_candle_lacks_are_widened() {
        check(Dtype::Bool, &[0, 1], &[0, 1]);
        check(Dtype::Int8, &[255, 1], &[-1, 1]);
        check(Dtype::UInt16, &[255, 255, 1, 0], &[65535, 1]);
        check(Dtype::UInt64, &[7, 0, 0, 0, 0, 0, 0, 0], &[7]);
        let stored = nnx_checkpoint::Tensor::from_bytes(Dtype::UInt64, &[1], vec![255; 8]).unwrap();
        let error = tensor(&stored).unwrap_err();
        assert_eq!(error.to_string(), "integers beyond int64 are not read");
    }
}
