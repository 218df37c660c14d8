//! The elements of candle's tensors.

use candle_core::{CpuStorage, DType, Layout, Result, Storage, Tensor};

use super::element::Element;
use super::matmul::Matrix;

/// Whether the kernels compute with these tensors: all on the CPU, and all float32 or all float64.
pub(crate) fn is_for(tensors: &[&Tensor]) -> bool {
    let is_one = |dtype| {
        tensors
            .iter()
            .all(|tensor| tensor.device().is_cpu() && tensor.dtype() == dtype)
    };
    is_one(DType::F32) || is_one(DType::F64)
}

/// All elements of a contiguous tensor.
///
/// # Errors
/// When the layout is not contiguous, or the elements have another type.
pub(crate) fn contiguous<'a, T: Element>(
    storage: &'a CpuStorage,
    layout: &Layout,
) -> Result<&'a [T]> {
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(storage.as_slice::<T>()?.get(start..end).unwrap_or_default()),
        None => candle_core::bail!("expected contiguous elements, got `{layout:?}`"),
    }
}

/// A matrix of candle's, in whatever order its elements are.
///
/// # Errors
/// When the layout is not that of a matrix, or the elements have another type.
pub(crate) fn matrix<'a, T: Element>(
    storage: &'a CpuStorage,
    layout: &Layout,
) -> Result<Matrix<'a, T>> {
    let (rows, columns) = layout.shape().dims2()?;
    let data = storage.as_slice::<T>()?;
    let data = data.get(layout.start_offset()..).unwrap_or_default();
    let [row_stride, column_stride] = layout.stride() else {
        candle_core::bail!("expected a matrix, got `{layout:?}`");
    };
    Ok(Matrix {
        data,
        rows,
        columns,
        row_stride: *row_stride,
        column_stride: *column_stride,
    })
}

/// Runs a function on the storage and the layout of a tensor on the CPU.
///
/// # Errors
/// When the tensor is on another device, or the function fails.
pub(crate) fn with<R>(
    tensor: &Tensor,
    run: impl FnOnce(&CpuStorage, &Layout) -> Result<R>,
) -> Result<R> {
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(storage) => run(storage, layout),
        _ => candle_core::bail!("expected a tensor on the CPU"),
    }
}
