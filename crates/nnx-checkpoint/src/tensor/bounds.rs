//! Where the elements of a view are.

use crate::Dtype;
use crate::error::{Error, Result};

/// Strides of a row-major tensor of that shape, as PyTorch counts them (a size of zero counts as
/// one).
///
/// # Errors
/// When a product of sizes overflows.
pub fn contiguous_strides(shape: &[usize]) -> Result<Vec<usize>> {
    let mut strides = vec![1; shape.len()];
    let mut step: usize = 1;
    for (stride, &size) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step
            .checked_mul(size.max(1))
            .ok_or_else(|| Error::malformed(format!("the sizes of shape {shape:?} overflow")))?;
    }
    Ok(strides)
}

/// The byte behind the last element of a view, or none when a number on the way overflows.
///
/// # Errors
/// When the elements of the view would have to be taken out of bytes that they share.
pub(super) fn end_of_view(
    dtype: Dtype,
    offset: usize,
    shape: &[usize],
    strides: &[usize],
) -> Result<Option<usize>> {
    if dtype.is_packed() && (offset != 0 || strides != contiguous_strides(shape)?) {
        return Err(Error::unsupported(format!(
            "a {dtype} tensor with offset {offset}, shape {shape:?} and strides {strides:?}: its \
             elements share bytes, and are read where they begin their storage in row-major order"
        )));
    }
    Ok(end(dtype, offset, shape, strides))
}

fn end(dtype: Dtype, offset: usize, shape: &[usize], strides: &[usize]) -> Option<usize> {
    shape
        .iter()
        .try_fold(dtype.size(), |bytes, &size| bytes.checked_mul(size.max(1)))?;
    let start = offset.checked_mul(dtype.size())?;
    if shape.contains(&0) {
        // PyTorch lets an empty view start anywhere; it touches nothing.
        return Some(0);
    }
    let mut last = 0usize;
    for (&size, &stride) in shape.iter().zip(strides) {
        last = last.checked_add(size.checked_sub(1)?.checked_mul(stride)?)?;
    }
    last.checked_add(1)?
        .div_ceil(dtype.elements_per_unit())
        .checked_mul(dtype.size())?
        .checked_add(start)
}
