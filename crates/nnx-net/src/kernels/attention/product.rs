//! Products of matrices that fit the processor's cache, on one thread.
//!
//! The products of [`matmul`](crate::kernels::matmul) read one of the matrices where it is. Here both
//! are copied, since their rows are far apart or their columns are wanted, and a copy serves many products.

use pulp::Simd;

use crate::kernels::float::Float;
use crate::kernels::matrix::Matrix;

/// The rows of the left matrix that are multiplied at once.
const ROWS: usize = 6;
/// The vectors of columns of the right matrix that are multiplied at once.
const VECTORS: usize = 2;

/// The right matrix of a product, in panels as wide as what is multiplied at once.
#[derive(Debug, Default)]
pub(super) struct Panels<T> {
    elements: Vec<T>,
    depth: usize,
}

/// The columns of a panel.
#[inline(always)]
fn panel<T: Float, S: Simd>() -> usize {
    VECTORS * T::width::<S>()
}

/// A number of columns that fills panels.
#[inline(always)]
pub(super) fn padded<T: Float, S: Simd>(columns: usize) -> usize {
    columns.next_multiple_of(panel::<T, S>())
}

impl<T: Float> Panels<T> {
    #[inline(always)]
    fn clear<S: Simd>(&mut self, depth: usize, columns: usize) {
        self.depth = depth;
        self.elements.clear();
        self.elements
            .resize(depth * padded::<T, S>(columns), T::ZERO);
    }

    /// Copies a matrix whose rows or columns are contiguous.
    #[inline(always)]
    pub(super) fn set<S: Simd>(&mut self, matrix: Matrix<'_, T>) {
        let (rows, columns) = (matrix.rows, matrix.columns);
        self.clear::<S>(rows, columns);
        let width = panel::<T, S>();
        if matrix.has_contiguous_rows() {
            for row in 0..rows {
                let parts = matrix.row(row, 0, columns).chunks(width);
                for (at, part) in parts.enumerate() {
                    self.elements[(at * rows + row) * width..][..part.len()].copy_from_slice(part);
                }
            }
        } else {
            let matrix = matrix.transposed();
            for column in 0..columns {
                let start = column / width * rows * width + column % width;
                for (row, x) in matrix.row(column, 0, rows).iter().enumerate() {
                    self.elements[start + row * width] = *x;
                }
            }
        }
    }
}

/// Copies [`ROWS`] rows from `first` on, column by column, of a matrix whose rows or columns are
/// contiguous; rows that do not exist are zero.
#[inline(always)]
fn copy_rows<T: Float>(matrix: Matrix<'_, T>, first: usize, columns: &mut Vec<[T; ROWS]>) {
    columns.clear();
    columns.resize(matrix.columns, [T::ZERO; ROWS]);
    let count = (matrix.rows - first).min(ROWS);
    if matrix.has_contiguous_rows() {
        for at in 0..count {
            let row = matrix.row(first + at, 0, matrix.columns);
            for (column, x) in columns.iter_mut().zip(row) {
                column[at] = *x;
            }
        }
    } else {
        let matrix = matrix.transposed();
        for (at, column) in columns.iter_mut().enumerate() {
            column[..count].copy_from_slice(matrix.row(at, first, count));
        }
    }
}

/// Adds `left · right` to rows of `sums`, each of `stride` numbers: as many rows of the right matrix as
/// the left one has columns, and all panels that have some of its first `columns` columns.
#[inline(always)]
pub(super) fn add_product<T: Float, S: Simd>(
    simd: S,
    left: Matrix<'_, T>,
    right: &Panels<T>,
    columns: usize,
    sums: &mut [T],
    stride: usize,
) {
    let width = panel::<T, S>();
    let mut block = Vec::new();
    for first in (0..left.rows).step_by(ROWS) {
        copy_rows(left, first, &mut block);
        let sums = &mut sums[first * stride..];
        let panels = right.elements.chunks_exact((right.depth * width).max(1));
        for (at, panel) in panels.take(columns.div_ceil(width)).enumerate() {
            let vectors = T::lanes::<S>(panel).0.as_chunks::<VECTORS>().0;
            let mut tile = [[T::splat(simd, T::ZERO); VECTORS]; ROWS];
            for (column, vectors) in block.iter().zip(vectors) {
                for (sums, x) in tile.iter_mut().zip(column) {
                    let x = T::splat(simd, *x);
                    for (sum, vector) in sums.iter_mut().zip(vectors) {
                        *sum = T::mul_add(simd, x, *vector, *sum);
                    }
                }
            }
            let one = T::splat(simd, T::ONE);
            for (row, tile) in tile.iter().take(left.rows - first).enumerate() {
                let sums = &mut sums[row * stride + at * width..][..width];
                for (sum, x) in T::lanes_mut::<S>(sums).0.iter_mut().zip(tile) {
                    *sum = T::mul_add(simd, one, *x, *sum);
                }
            }
        }
    }
}
