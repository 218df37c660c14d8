//! Conversions between [`Tensor`] and candle's tensor: the only place of this crate that knows
//! candle.

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
            DType::U8 => of_values(values(&bytes, u8::from_le_bytes)?, shape),
            DType::U32 => of_values(values(&bytes, u32::from_le_bytes)?, shape),
            DType::I16 => of_values(values(&bytes, i16::from_le_bytes)?, shape),
            DType::I32 => of_values(values(&bytes, i32::from_le_bytes)?, shape),
            DType::I64 => of_values(values(&bytes, i64::from_le_bytes)?, shape),
            DType::BF16 => of_values(values(&bytes, half::bf16::from_le_bytes)?, shape),
            DType::F16 => of_values(values(&bytes, half::f16::from_le_bytes)?, shape),
            DType::F32 => of_values(values(&bytes, f32::from_le_bytes)?, shape),
            DType::F64 => of_values(values(&bytes, f64::from_le_bytes)?, shape),
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
fn of_values<T: WithDType>(values: Vec<T>, shape: &[usize]) -> Result<candle_core::Tensor> {
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
            // The table above has none of these.
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

/// What candle itself refused.
fn refused(error: candle_core::Error) -> Error {
    Error::unsupported(format!("candle does not convert the tensor: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Storage as Bytes;

    /// Random bits make good elements: NaN payloads have to survive too.
    fn noise(count: usize) -> Vec<u8> {
        let mut state = 1_u32;
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state.to_be_bytes()[0]
            })
            .collect()
    }

    #[test]
    fn every_common_dtype_keeps_its_bits() {
        for (ours, candle) in DTYPES {
            let bytes = noise(6 * ours.size());
            let tensor = Tensor::from_bytes(*ours, &[2, 3], bytes.clone()).unwrap();
            let there = candle_core::Tensor::try_from(&tensor).unwrap();
            assert_eq!((there.dtype(), there.dims()), (*candle, &[2, 3][..]));
            let back = Tensor::try_from(&there).unwrap();
            assert_eq!((back.dtype(), back.shape()), (*ours, &[2, 3][..]));
            assert_eq!(*back.to_bytes().unwrap(), *bytes, "{ours}");
        }
    }

    #[test]
    fn a_scalar_and_an_empty_tensor_convert() {
        for shape in [&[][..], &[0, 3]] {
            let elements: usize = shape.iter().product();
            let tensor = Tensor::from_bytes(Dtype::Float32, shape, noise(4 * elements)).unwrap();
            let there = candle_core::Tensor::try_from(&tensor).unwrap();
            assert_eq!(there.dims(), shape);
            assert_eq!(Tensor::try_from(&there).unwrap().shape(), shape);
        }
    }

    #[test]
    fn a_strided_view_arrives_in_row_major_order() {
        let storage = Bytes::new((0_u8..6).collect::<Vec<_>>());
        let view = Tensor::view(storage, Dtype::UInt8, 0, &[3, 2], &[1, 3]).unwrap();
        let candle = candle_core::Tensor::try_from(&view).unwrap();
        assert_eq!(candle.to_vec2::<u8>().unwrap(), [[0, 3], [1, 4], [2, 5]]);
    }

    #[test]
    fn an_offset_and_a_transpose_of_candle_are_followed() {
        let candle = candle_core::Tensor::arange(0_u8, 6, &Device::Cpu).unwrap();
        let candle = candle.reshape((2, 3)).unwrap().narrow(1, 1, 2).unwrap();
        let plain = Tensor::try_from(&candle).unwrap();
        assert_eq!(*plain.to_bytes().unwrap(), [1, 2, 4, 5]);
        let turned = Tensor::try_from(&candle.t().unwrap()).unwrap();
        assert_eq!(*turned.to_bytes().unwrap(), [1, 4, 2, 5]);
        let tail = candle_core::Tensor::arange(0_i64, 6, &Device::Cpu).unwrap();
        let tail = Tensor::try_from(&tail.narrow(0, 4, 2).unwrap()).unwrap();
        assert_eq!(
            *tail.to_bytes().unwrap(),
            [4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]
        );
    }

    #[test]
    fn a_dtype_that_candle_lacks_is_named() {
        for dtype in [
            Dtype::Bool,
            Dtype::UInt16,
            Dtype::Complex64,
            Dtype::Float8E5M2,
        ] {
            let tensor = Tensor::from_bytes(dtype, &[1], vec![0; dtype.size()]).unwrap();
            let error = candle_core::Tensor::try_from(&tensor).unwrap_err();
            assert!(matches!(error.kind(), crate::ErrorKind::Unsupported { .. }));
            assert_eq!(error.to_string(), format!("candle has no dtype `{dtype}`"));
        }
    }
}
