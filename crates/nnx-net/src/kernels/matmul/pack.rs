//! Matrices in the order in which tiles read them.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::tile;
use crate::kernels::cpu::Cpu;
use crate::kernels::element::Element;
use crate::kernels::matrix::Matrix;

/// Columns of the rows of a matrix in panels: a panel has as many rows as a tile is wide, one element of
/// each row after the other, and zeros for rows that do not exist.
#[derive(Debug)]
pub(crate) struct Panels<T> {
    packed: Vec<T>,
    /// Where the first panel begins: at a line of the cache.
    start: usize,
    rows: usize,
    depth: usize,
    /// The elements in a vector.
    lanes: usize,
}

/// The bytes in a line of the cache.
const LINE: usize = 64;

impl<T: Element> Panels<T> {
    /// Panels of zeros for `rows` rows of `depth` columns.
    pub(crate) fn zeros(cpu: Cpu, rows: usize, depth: usize) -> Self {
        let lanes = cpu.dispatch(Width(std::marker::PhantomData::<T>));
        let spare = LINE / size_of::<T>();
        let packed = vec![T::default(); rows.next_multiple_of(lanes) * depth + spare];
        let start = packed.as_ptr().align_offset(LINE).min(spare);
        Self {
            packed,
            start,
            rows,
            depth,
            lanes,
        }
    }

    /// Packs some columns of a matrix.
    pub(super) fn new(cpu: Cpu, matrix: Matrix<'_, T>, columns: Range<usize>) -> Self {
        let mut panels = Self::zeros(cpu, matrix.rows, columns.len());
        let parts = cpu.parts(matrix.rows * columns.len());
        cpu.each(panels.parts_mut(parts), |part| {
            cpu.dispatch(|| {
                for (rows, panel) in part {
                    let width = panel.len() / columns.len().max(1);
                    let data = &matrix.data
                        [rows.start * matrix.row_stride + columns.start * matrix.column_stride..];
                    // Rows and columns exchanged: a row of the panel is a column of the matrix.
                    let part = Matrix {
                        data,
                        rows: columns.len(),
                        columns: rows.len(),
                        row_stride: matrix.column_stride,
                        column_stride: matrix.row_stride,
                    };
                    transpose(part, panel, width);
                }
            });
        });
        panels
    }

    /// The panels with the rows that they have, in `parts` parts.
    pub(crate) fn parts_mut(&mut self, parts: usize) -> Vec<Vec<(Range<usize>, &mut [T])>> {
        let (count, width) = (self.count(), self.lanes * tile::VECTORS);
        let each = count.div_ceil(parts.max(1)).max(1);
        let rows = self.rows;
        let mut rest = &mut self.packed[self.start..];
        let mut all = Vec::with_capacity(parts);
        for panel in 0..count {
            if panel % each == 0 {
                all.push(Vec::with_capacity(each));
            }
            let rows = panel * width..rows.min((panel + 1) * width);
            let length = rows.len().next_multiple_of(self.lanes) * self.depth;
            let (panel, after) = rest.split_at_mut(length);
            rest = after;
            if let Some(part) = all.last_mut() {
                part.push((rows, panel));
            }
        }
        all
    }

    /// The number of panels.
    pub(super) fn count(&self) -> usize {
        self.rows.div_ceil(self.lanes * tile::VECTORS)
    }

    /// The columns in a panel.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// The bytes in a full panel.
    pub(super) fn panel_bytes(&self) -> usize {
        self.lanes * tile::VECTORS * self.depth * size_of::<T>()
    }

    /// The rows of a panel, the width that they are padded to, and the panel.
    #[inline(always)]
    pub(super) fn panel(&self, panel: usize) -> (Range<usize>, usize, &[T]) {
        let width = self.lanes * tile::VECTORS;
        let rows = panel * width..self.rows.min((panel + 1) * width);
        let start = self.start + panel * width * self.depth;
        let width = rows.len().next_multiple_of(self.lanes);
        (rows, width, &self.packed[start..][..width * self.depth])
    }
}

/// The elements in a vector.
struct Width<T>(std::marker::PhantomData<T>);

impl<T: Element> WithSimd for Width<T> {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> usize {
        T::width::<S>()
    }
}

/// Copies a matrix to rows that begin every `stride` elements.
#[inline(always)]
pub(super) fn transpose<T: Element>(from: Matrix<'_, T>, to: &mut [T], stride: usize) {
    if from.columns == 0 {
        return;
    }
    if from.column_stride == 1 {
        for (row, to) in to.chunks_exact_mut(stride).take(from.rows).enumerate() {
            to[..from.columns].copy_from_slice(from.row(row, 0, from.columns));
        }
        return;
    }
    // Squares, so that lines of the cache are used whole on both sides.
    const SIDE: usize = 16;
    for (block, to) in to.chunks_mut(stride * SIDE).enumerate() {
        let top = block * SIDE;
        let rows = from.rows.saturating_sub(top).min(SIDE);
        for left in (0..from.columns).step_by(SIDE) {
            let columns = SIDE.min(from.columns - left);
            let start = top * from.row_stride + left * from.column_stride;
            if rows == SIDE && from.row_stride == 1 {
                for column in 0..columns {
                    let line: &[T; SIDE] =
                        match from.data[start + column * from.column_stride..].first_chunk() {
                            Some(line) => line,
                            None => return,
                        };
                    for (x, to) in line
                        .iter()
                        .zip(to[left + column..].iter_mut().step_by(stride))
                    {
                        *to = *x;
                    }
                }
            } else {
                for row in 0..rows {
                    for column in 0..columns {
                        to[row * stride + left + column] =
                            from.data[start + row * from.row_stride + column * from.column_stride];
                    }
                }
            }
        }
    }
}
