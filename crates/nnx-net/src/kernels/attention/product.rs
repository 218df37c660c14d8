//! Products of matrices that fit the processor's cache.

use pulp::Simd;

use crate::kernels::float::Float;

/// The rows of the left matrix that are multiplied at once.
const ROWS: usize = 6;
/// The vectors of columns of the right matrix that are multiplied at once.
const VECTORS: usize = 2;

/// Rows of numbers at equal distances.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'a, T> {
    pub(super) elements: &'a [T],
    /// Where the first row begins.
    pub(super) start: usize,
    /// The distance from one row to the next.
    pub(super) stride: usize,
    /// The size of a row.
    pub(super) size: usize,
}

impl<'a, T> Rows<'a, T> {
    /// A row.
    #[inline(always)]
    pub(super) fn get(self, row: usize) -> &'a [T] {
        &self.elements[self.start + row * self.stride..][..self.size]
    }

    /// The rows from one on.
    pub(super) fn from(self, first: usize) -> Self {
        Self {
            start: self.start + first * self.stride,
            ..self
        }
    }
}

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

    /// Sets the matrix to that many rows.
    #[inline(always)]
    pub(super) fn set_rows<S: Simd>(&mut self, rows: Rows<'_, T>, count: usize) {
        self.clear::<S>(count, rows.size);
        let width = panel::<T, S>();
        for row in 0..count {
            for (at, part) in rows.get(row).chunks(width).enumerate() {
                self.elements[(at * count + row) * width..][..part.len()].copy_from_slice(part);
            }
        }
    }

    /// Sets the matrix to the transpose of that many rows.
    #[inline(always)]
    pub(super) fn set_transposed<S: Simd>(&mut self, rows: Rows<'_, T>, count: usize) {
        self.clear::<S>(rows.size, count);
        let width = panel::<T, S>();
        for column in 0..count {
            let start = column / width * rows.size * width + column % width;
            for (depth, x) in rows.get(column).iter().enumerate() {
                self.elements[start + depth * width] = *x;
            }
        }
    }
}

/// The left matrix of a product.
#[derive(Clone, Copy, Debug)]
pub(super) enum Left<'a, T> {
    /// These rows.
    Rows(Rows<'a, T>),
    /// The transpose of these rows.
    Transposed(Rows<'a, T>),
}

impl<T: Float> Left<'_, T> {
    /// Copies [`ROWS`] rows from `first` on, column by column; rows from `end` on are zero.
    #[inline(always)]
    fn copy(self, columns: &mut Vec<[T; ROWS]>, first: usize, end: usize, depth: usize) {
        columns.clear();
        columns.resize(depth, [T::ZERO; ROWS]);
        let count = (end - first).min(ROWS);
        match self {
            Self::Rows(rows) => {
                for at in 0..count {
                    for (column, x) in columns.iter_mut().zip(rows.get(first + at)) {
                        column[at] = *x;
                    }
                }
            }
            Self::Transposed(rows) => {
                for (row, column) in columns.iter_mut().enumerate() {
                    column[..count].copy_from_slice(&rows.get(row)[first..first + count]);
                }
            }
        }
    }
}

/// Adds `left · right` to `count` rows of `sums`, each of `stride` numbers: the first `depth` columns
/// of the left and rows of the right matrix, and all panels of the right one that have some of the
/// first `columns` columns.
#[inline(always)]
pub(super) fn add_product<T: Float, S: Simd>(
    simd: S,
    left: Left<'_, T>,
    right: &Panels<T>,
    [count, depth, columns]: [usize; 3],
    sums: &mut [T],
    stride: usize,
) {
    let width = panel::<T, S>();
    let mut block = Vec::new();
    for first in (0..count).step_by(ROWS) {
        left.copy(&mut block, first, count, depth);
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
            for (row, tile) in tile.iter().take(count - first).enumerate() {
                let sums = &mut sums[row * stride + at * width..][..width];
                for (sum, x) in T::lanes_mut::<S>(sums).0.iter_mut().zip(tile) {
                    *sum = T::mul_add(simd, one, *x, *sum);
                }
            }
        }
    }
}
