//! Conversions between [`Tensor`] and the arrays of the crate `ndarray`.

use ::ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};
use half::{bf16, f16};
use num_complex::Complex;

use crate::error::{Error, Result};
use crate::{Dtype, Tensor};

mod sealed {
    pub trait Sealed {
        /// The value of that many little-endian bytes.
        fn read(bytes: &[u8]) -> Self;
        /// Appends the value, little-endian.
        fn write(&self, bytes: &mut Vec<u8>);
    }
}

/// A type of Rust for the elements of a tensor: `bool`, the integers of 8 to 64 bits, `f32`, `f64`,
/// `half`'s `f16` and `bf16`, and complex numbers of `f32` and `f64`.
pub trait ArrayElement: sealed::Sealed + Clone {
    /// The element type.
    const DTYPE: Dtype;
}

macro_rules! elements {
    ($($type:ty => $dtype:ident;)*) => {
        $(
            impl sealed::Sealed for $type {
                fn read(bytes: &[u8]) -> Self {
                    Self::from_le_bytes(bytes.try_into().unwrap_or_default())
                }

                fn write(&self, bytes: &mut Vec<u8>) {
                    bytes.extend_from_slice(&self.to_le_bytes());
                }
            }

            impl ArrayElement for $type {
                const DTYPE: Dtype = Dtype::$dtype;
            }
        )*
    };
}

elements! {
    u8 => UInt8;
    i8 => Int8;
    u16 => UInt16;
    i16 => Int16;
    u32 => UInt32;
    i32 => Int32;
    u64 => UInt64;
    i64 => Int64;
    f16 => Float16;
    bf16 => BFloat16;
    f32 => Float32;
    f64 => Float64;
}

impl sealed::Sealed for bool {
    fn read(bytes: &[u8]) -> Self {
        bytes.iter().any(|&byte| byte != 0)
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(*self));
    }
}

impl ArrayElement for bool {
    const DTYPE: Dtype = Dtype::Bool;
}

impl<T: sealed::Sealed> sealed::Sealed for Complex<T> {
    fn read(bytes: &[u8]) -> Self {
        let (real, imaginary) = bytes.split_at(bytes.len().div_ceil(2));
        Self::new(T::read(real), T::read(imaginary))
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        self.re.write(bytes);
        self.im.write(bytes);
    }
}

impl ArrayElement for Complex<f32> {
    const DTYPE: Dtype = Dtype::Complex64;
}

impl ArrayElement for Complex<f64> {
    const DTYPE: Dtype = Dtype::Complex128;
}

/// The elements in row-major order, whatever the strides of the tensor.
///
/// ```
/// use ndarray::{ArrayD, array};
/// use nnx_checkpoint::Tensor;
///
/// let tensor = Tensor::try_from(&array![[1.0f32, 2.0], [3.0, 4.0]])?;
/// let array = ArrayD::<f32>::try_from(&tensor)?;
/// assert_eq!(array.shape(), [2, 2]);
/// assert!(ArrayD::<f64>::try_from(&tensor).is_err());
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
///
/// # Errors
/// When the tensor's dtype is not that of the element type, and as for [`Tensor::to_bytes`].
impl<T: ArrayElement> TryFrom<&Tensor> for ArrayD<T> {
    type Error = Error;

    fn try_from(tensor: &Tensor) -> Result<Self> {
        if tensor.dtype() != T::DTYPE {
            return Err(Error::unsupported(format!(
                "expected a {} tensor for an array of that element type, found a {} tensor; cast \
                 it first",
                T::DTYPE,
                tensor.dtype()
            )));
        }
        let bytes = tensor.to_bytes()?;
        let values: Vec<T> = bytes.chunks_exact(T::DTYPE.size()).map(T::read).collect();
        Self::from_shape_vec(IxDyn(tensor.shape()), values)
            .map_err(|error| Error::unsupported(format!("no array has this shape: {error}")))
    }
}

/// A contiguous tensor of the array's elements, whatever the order of its axes.
///
/// # Errors
/// When the sizes overflow.
impl<S, D> TryFrom<&ArrayBase<S, D>> for Tensor
where
    S: Data,
    S::Elem: ArrayElement,
    D: Dimension,
{
    type Error = Error;

    fn try_from(array: &ArrayBase<S, D>) -> Result<Self> {
        let dtype = <S::Elem as ArrayElement>::DTYPE;
        let mut bytes = Vec::with_capacity(array.len().saturating_mul(dtype.size()));
        for element in array {
            sealed::Sealed::write(element, &mut bytes);
        }
        Self::from_bytes(dtype, array.shape(), bytes)
    }
}

#[cfg(test)]
mod tests {
    use ::ndarray::{Array, array};

    use super::*;

    /// Little-endian bytes as NumPy gives them: `numpy.array(values, dtype).tobytes().hex()`.
    #[track_caller]
    fn check<T>(values: [T; 2], hex: &str)
    where
        T: ArrayElement + PartialEq + std::fmt::Debug,
    {
        let array = Array::from_vec(values.to_vec());
        let tensor = Tensor::try_from(&array).unwrap();
        let found = tensor.to_bytes().unwrap();
        let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((tensor.dtype(), found.as_str()), (T::DTYPE, hex));
        assert_eq!(ArrayD::<T>::try_from(&tensor).unwrap(), array.into_dyn());
    }

    #[test]
    fn every_element_type_goes_both_ways() {
        check([true, false], "0100");
        check([1u8, 255], "01ff");
        check([-1i8, 2], "ff02");
        check([1u16, 65535], "0100ffff");
        check([-2i16, 3], "feff0300");
        check([1u32, 4_000_000_000], "0100000000286bee");
        check([-2i32, 3], "feffffff03000000");
        check([1u64, u64::MAX], "0100000000000000ffffffffffffffff");
        check([-2i64, 3], "feffffffffffffff0300000000000000");
        check([f16::from_f32(1.5), f16::from_f32(-2.0)], "003e00c0");
        check([bf16::from_f32(1.5), bf16::from_f32(-2.0)], "c03f00c0");
        check([1.5f32, -2.0], "0000c03f000000c0");
        check([1.5f64, -2.0], "000000000000f83f00000000000000c0");
        check(
            [Complex::new(1.5f32, -2.0), Complex::new(0.0, 1.0)],
            "0000c03f000000c0000000000000803f",
        );
        check(
            [Complex::new(1.5f64, -2.0), Complex::new(0.0, 1.0)],
            "000000000000f83f00000000000000c00000000000000000000000000000f03f",
        );
    }

    #[test]
    fn axes_in_another_order_are_gathered() {
        let array = array![[1i32, 2, 3], [4, 5, 6]];
        let turned = Tensor::try_from(&array.t()).unwrap();
        assert_eq!(turned.shape(), [3, 2]);
        let back = ArrayD::<i32>::try_from(&turned).unwrap();
        assert_eq!(back, array.t().into_dyn());
        // A transposed view of a tensor.
        let tensor = Tensor::try_from(&array).unwrap();
        let view = Tensor::view(tensor.storage().clone(), Dtype::Int32, 0, &[3, 2], &[1, 3]);
        let back = ArrayD::<i32>::try_from(&view.unwrap()).unwrap();
        assert_eq!(back, array.t().into_dyn());
        let scalar = Tensor::from_bytes(Dtype::Int32, &[], vec![7, 0, 0, 0]).unwrap();
        assert_eq!(ArrayD::<i32>::try_from(&scalar).unwrap().ndim(), 0);
    }

    #[test]
    fn another_element_type_is_refused() {
        let tensor = Tensor::try_from(&array![1i32, 2]).unwrap();
        let error = ArrayD::<u32>::try_from(&tensor).unwrap_err();
        assert_eq!(error.kind().name(), "unsupported");
    }
}
