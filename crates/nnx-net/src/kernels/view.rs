//! The elements of candle's tensors, as kernels read them.

use candle_core::{CpuStorage, Layout, Result};

use super::element::Element;
use super::matrix::Matrix;

/// A tensor on the CPU: its storage, and where its elements are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) storage: &'a CpuStorage,
    pub(crate) layout: &'a Layout,
}

impl<'a> View<'a> {
    /// The size of each axis.
    pub(crate) fn dims(self) -> &'a [usize] {
        self.layout.dims()
    }

    /// All elements of a contiguous tensor.
    ///
    /// # Errors
    /// When the tensor is not contiguous, or its elements have another type.
    pub(crate) fn elements<T: Element>(self) -> Result<&'a [T]> {
        let Some((start, end)) = self.layout.contiguous_offsets() else {
            candle_core::bail!("expected contiguous elements, got `{:?}`", self.layout);
        };
        let elements = self.storage.as_slice::<T>()?;
        Ok(elements.get(start..end).unwrap_or_default())
    }

    /// A matrix, in whatever order its elements are.
    ///
    /// # Errors
    /// When the tensor is not a matrix, or its elements have another type.
    pub(crate) fn matrix<T: Element>(self) -> Result<Matrix<'a, T>> {
        let (rows, columns) = self.layout.shape().dims2()?;
        let data = self.storage.as_slice::<T>()?;
        let data = data.get(self.layout.start_offset()..).unwrap_or_default();
        let [row_stride, column_stride] = self.layout.stride() else {
            candle_core::bail!("expected a matrix, got `{:?}`", self.layout);
        };
        Ok(Matrix {
            data,
            rows,
            columns,
            row_stride: *row_stride,
            column_stride: *column_stride,
        })
    }
}
