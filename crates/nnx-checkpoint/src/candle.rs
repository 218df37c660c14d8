//! Conversions between [`Tensor`] and candle's tensor: the only place of this crate that knows
//! candle.

mod var_builder;

use candle_core::{CpuStorage, DType, Device, Storage, WithDType};

use crate::tensor::reserved;
use crate::{Dtype, Error, Result, Tensor};

/// The dtypes that candle computes with.
const DTYPES: &[(Dtype, DType)] = &[
    (Dtype::UInt8, DType::U8),
    (Dtype::UInt32, DType::U32),
    (Dtype::Int16, DType::I16),
    (Dtype::Int32, DType::I32),
    (Dtype::Int64, DType::I64),
    (Dtype::BFloat16, DType::BF16),
    (Dtype::Float16, DType::F16),
    (Dtype::Float32, DType::F32),
    (Dtype::Float64, DType::F64),
    (Dtype::Float8E4M3Fn, DType::F8E4M3),
];

/// Copies the elements once, in row-major order, to candle's CPU.
///
/// ```
/// use nnx_checkpoint::{Dtype, Tensor};
///
/// # fn main() -> Result<(), nnx_checkpoint::Error> {
/// let bytes: Vec<u8> = [1_i64, 2].iter().flat_map(|n| n.to_le_bytes()).collect();
/// let tensor = Tensor::from_bytes(Dtype::Int64, &[2], bytes)?;
/// let candle = candle_core::Tensor::try_from(&tensor)?;
/// assert_eq!(candle.to_vec1::<i64>().unwrap(), [1, 2]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When candle has no such dtype, or gathering a strided view meets a limit.
impl TryFrom<&Tensor> for candle_core::Tensor {
    type Error = Error;

    fn try_from(tensor: &Tensor) -> Result<Self> {
        let dtype = DTYPES
            .iter()
            .find(|(ours, _)| *ours == tensor.dtype())
            .map(|(_, candle)| *candle)
            .ok_or_else(|| {
                Error::unsupported(format!("candle has no dtype `{}`", tensor.dtype()))
            })?;
        let bytes = tensor.to_bytes()?;
        let shape = tensor.shape();
        match dtype {
            DType::U8 => from_values(values(&bytes, u8::from_le_bytes)?, shape),
            DType::U32 => from_values(values(&bytes, u32::from_le_bytes)?, shape),
            DType::I16 => from_values(values(&bytes, i16::from_le_bytes)?, shape),
            DType::I32 => from_values(values(&bytes, i32::from_le_bytes)?, shape),
            DType::I64 => from_values(values(&bytes, i64::from_le_bytes)?, shape),
            DType::BF16 => from_values(values(&bytes, half::bf16::from_le_bytes)?, shape),
            DType::F16 => from_values(values(&bytes, half::f16::from_le_bytes)?, shape),
            DType::F32 => from_values(values(&bytes, f32::from_le_bytes)?, shape),
            DType::F64 => from_values(values(&bytes, f64::from_le_bytes)?, shape),
            _ => Self::from_raw_buffer(&bytes, dtype, shape, &Device::Cpu).map_err(refused),
        }
    }
}

/// The values that the bytes are, in memory of their own.
fn values<T, const N: usize>(bytes: &[u8], value: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
    let (bytes, _) = bytes.as_chunks::<N>();
    let mut values = reserved(bytes.len())?;
    values.extend(bytes.iter().map(|bytes| value(*bytes)));
    Ok(values)
}

/// A tensor of candle's that takes the values over as they are.
fn from_values<T: WithDType>(values: Vec<T>, shape: &[usize]) -> Result<candle_core::Tensor> {
    candle_core::Tensor::from_vec(values, shape, &Device::Cpu).map_err(refused)
}

/// Copies the elements once, in row-major order, from whatever device they are on.
///
/// # Errors
/// When PyTorch has no such dtype, or the device does not hand out its memory.
impl TryFrom<&candle_core::Tensor> for Tensor {
    type Error = Error;

    fn try_from(tensor: &candle_core::Tensor) -> Result<Self> {
        let dtype = DTYPES
            .iter()
            .find(|(_, candle)| *candle == tensor.dtype())
            .map(|(ours, _)| *ours)
            .ok_or_else(|| {
                Error::unsupported(format!(
                    "candle's dtype `{}` has no counterpart in a checkpoint",
                    tensor.dtype().as_str()
                ))
            })?;
        let on_cpu = tensor
            .to_device(&Device::Cpu)
            .and_then(|tensor| tensor.contiguous())
            .map_err(refused)?;
        let (storage, layout) = on_cpu.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else {
            return Err(Error::unsupported(
                "a candle tensor did not come to the CPU",
            ));
        };
        let start = layout.start_offset();
        let elements = start..start.saturating_add(layout.shape().elem_count());
        let bytes = match storage {
            CpuStorage::U8(values) => values.get(elements).map(<[u8]>::to_vec),
            CpuStorage::U32(values) => le_bytes(values.get(elements), |v| v.to_le_bytes()),
            CpuStorage::I16(values) => le_bytes(values.get(elements), |v| v.to_le_bytes()),
            CpuStorage::I32(values) => le_bytes(values.get(elements), |v| v.to_le_bytes()),
            CpuStorage::I64(values) => le_bytes(values.get(elements), |v| v.to_le_bytes()),
            CpuStorage::BF16(values) => le_bytes(values.get(elements), |v| v.to_le_bytes()),
            CpuStorage::F16(values) => le_bytes(values.get(elements), |v| v.to_le_bytes()),
            CpuStorage::F32(values) => le_bytes(values.get(elements), |v| v.to_le_bytes()),
            CpuStorage::F64(values) => le_bytes(values.get(elements), |v| v.to_le_bytes()),
            CpuStorage::F8E4M3(values) => le_bytes(values.get(elements), |v| [v.to_bits()]),
            // These are not in the table above.
            CpuStorage::F6E2M3(_)
            | CpuStorage::F6E3M2(_)
            | CpuStorage::F4(_)
            | CpuStorage::F8E8M0(_) => None,
        }
        .ok_or_else(|| Error::malformed("a candle tensor lies outside its storage"))?;
        Self::from_bytes(dtype, layout.dims(), bytes)
    }
}

/// The elements one behind the other, little-endian.
fn le_bytes<T, const N: usize>(
    values: Option<&[T]>,
    bytes: impl Fn(&T) -> [u8; N],
) -> Option<Vec<u8>> {
    values.map(|values| values.iter().flat_map(bytes).collect())
}

/// An error of candle itself.
fn refused(error: candle_core::Error) -> Error {
    Error::unsupported(format!("candle does not convert the tensor: {error}"))
}

#[cfg(test)]
mod tests;
