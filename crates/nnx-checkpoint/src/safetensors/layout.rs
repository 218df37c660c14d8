//! Dtypes and shapes as the header has them.

use crate::error::{Error, Result, shown};
use crate::{Dtype, Tensor};

/// Dtypes in the order in which the format's own writer lays out their tensors: those before others
/// come first in the file.
const ORDER: &[Dtype] = &[
    Dtype::UInt64,
    Dtype::Int64,
    Dtype::Float64,
    Dtype::Complex64,
    Dtype::Float32,
    Dtype::UInt32,
    Dtype::Int32,
    Dtype::BFloat16,
    Dtype::Float16,
    Dtype::UInt16,
    Dtype::Int16,
    Dtype::Float8E5M2FnUz,
    Dtype::Float8E4M3FnUz,
    Dtype::Float8E8M0Fnu,
    Dtype::Float8E4M3Fn,
    Dtype::Float8E5M2,
    Dtype::Int8,
    Dtype::UInt8,
    Dtype::Float4E2M1FnX2,
    Dtype::Bool,
];

/// The place of a dtype in the file's order, and its name in the header.
pub(super) fn place(dtype: Dtype) -> Result<(usize, &'static str)> {
    ORDER
        .iter()
        .position(|other| *other == dtype)
        .zip(dtype.safetensors_name())
        .ok_or_else(|| {
            Error::unsupported(format!("the safetensors format has no dtype for `{dtype}`"))
        })
}

/// The dtype of a name in the header.
pub(super) fn dtype(name: &str) -> Result<Dtype> {
    Dtype::from_safetensors_name(name).ok_or_else(|| {
        Error::unsupported(format!(
            "the safetensors dtype `{}` is not supported",
            shown(name)
        ))
    })
}

/// A shape in PyTorch's units from one of the header. The header counts single 4-bit floats, of
/// which PyTorch's elements hold two.
pub(super) fn shape_from_header(dtype: Dtype, header: &[u64]) -> Result<Vec<usize>> {
    let mut shape = header
        .iter()
        .map(|&size| usize::try_from(size).ok())
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| Error::malformed(format!("the sizes of shape {header:?} overflow")))?;
    if dtype == Dtype::Float4E2M1FnX2 {
        match shape.last_mut() {
            Some(last) if *last % 2 == 0 => *last /= 2,
            _ => {
                return Err(Error::malformed(format!(
                    "expected a shape whose rows of 4-bit floats fill whole bytes, found {header:?}"
                )));
            }
        }
    }
    Ok(shape)
}

/// The tensor's shape as the header counts it.
pub(super) fn shape_for_header(tensor: &Tensor) -> Result<Vec<usize>> {
    let mut shape = tensor.shape().to_vec();
    if tensor.dtype() == Dtype::Float4E2M1FnX2 {
        let last = shape.last_mut().ok_or_else(|| {
            Error::unsupported(
                "the safetensors format counts 4-bit floats one by one and has no scalar of two",
            )
        })?;
        *last = last
            .checked_mul(2)
            .ok_or_else(|| Error::malformed("the sizes of the shape overflow"))?;
    }
    Ok(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_with_a_name_has_its_place() {
        for dtype in Dtype::all() {
            assert_eq!(
                place(dtype).is_ok(),
                dtype.safetensors_name().is_some(),
                "{dtype}"
            );
        }
    }
}
