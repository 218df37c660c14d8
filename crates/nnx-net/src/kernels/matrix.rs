//! Matrices in memory.

use std::ops::Range;

use super::element::Element;

/// A matrix in memory: the element in row `i` and column `j` is `data[i · row_stride + j · column_stride]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) row_stride: usize,
    pub(crate) column_stride: usize,
}

impl<'a, T: Element> Matrix<'a, T> {
    /// A matrix whose rows are contiguous and follow each other.
    pub(crate) fn new(data: &'a [T], rows: usize, columns: usize) -> Self {
        Self {
            data,
            rows,
            columns,
            row_stride: columns,
            column_stride: 1,
        }
    }

    /// The same elements with rows and columns exchanged.
    pub(crate) fn transposed(self) -> Self {
        Self {
            data: self.data,
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
        }
    }

    /// Whether each row is contiguous.
    pub(super) fn has_contiguous_rows(&self) -> bool {
        self.column_stride == 1 || self.columns == 1
    }

    /// Part of a row that is contiguous.
    #[inline(always)]
    pub(super) fn row(&self, row: usize, first: usize, count: usize) -> &'a [T] {
        &self.data[row * self.row_stride + first..][..count]
    }

    /// Some of the rows.
    pub(super) fn block(self, rows: Range<usize>) -> Self {
        Self {
            data: self
                .data
                .get(rows.start * self.row_stride..)
                .unwrap_or_default(),
            rows: rows.len(),
            ..self
        }
    }
}
