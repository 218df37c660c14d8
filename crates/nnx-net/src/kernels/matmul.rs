//! Products of matrices, with a bias and an activation in the same pass.

mod few_rows;
mod output;
mod pack;
mod tile;

use pulp::{Simd, WithSimd};

use self::output::Output;
pub(crate) use self::output::{Bias, Finish};
use super::cpu::Cpu;
use super::element::Element;
use super::matrix::Matrix;

/// The most rows of a product that is computed without packing.
const FEW: usize = 4;
/// The columns of the left matrix that are multiplied in one pass over the result.
const DEPTH: usize = 1024;
/// The bytes of packed panels that stay in the second-level cache while rows pass by.
const CACHED: usize = 384 << 10;

/// Computes `left · right` and finishes each element; `out` has contiguous rows.
///
/// Each element is summed up by one thread, in an order that depends on the shapes only.
pub(crate) fn product<T: Element>(
    cpu: Cpu,
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    finish: Finish<'_, T>,
    out: &mut [T],
) {
    if left.columns == 0 {
        out.fill(T::default());
        for (row, out) in out.chunks_mut(right.columns.max(1)).enumerate() {
            finish.apply(row, 0, out);
        }
        return;
    }
    let right = right.transposed();
    let ready = [left, right].map(|matrix| matrix.has_contiguous_rows());
    let output = Output::new(out, right.rows, finish);
    if ready == [true, true] && left.rows <= FEW {
        return few_rows::product(cpu, left, right, output.turned());
    }
    // The smaller one is packed; the other one is read where it is, if its rows are contiguous.
    if ready[1] && (!ready[0] || left.rows < right.rows) {
        blocks(cpu, right, left, output.turned());
    } else if ready[0] {
        blocks(cpu, left, right, output);
    } else {
        let copy = contiguous_rows(left);
        blocks(
            cpu,
            Matrix::new(&copy, left.rows, left.columns),
            right,
            output,
        );
    }
}

/// The elements of a matrix, row by row.
pub(crate) fn contiguous_rows<T: Element>(matrix: Matrix<'_, T>) -> Vec<T> {
    let mut rows = vec![T::default(); matrix.rows * matrix.columns];
    pack::transpose(matrix, &mut rows, matrix.columns);
    rows
}

/// Computes the products of the rows of two matrices, block after block of their columns.
fn blocks<T: Element>(
    cpu: Cpu,
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    mut output: Output<'_, T>,
) {
    let depth = left.columns;
    let count = depth.div_ceil(DEPTH).max(1);
    for block in 0..count {
        let [first, end] = [block, block + 1].map(|at| at * depth / count);
        let panels = pack::Panels::new(cpu, right, first..end);
        let work = left.rows * right.rows * (end - first);
        let parts = match cpu.parts(work / 16) {
            1 => 1,
            // More parts than threads: a thread that is late gets fewer of them.
            several => 4 * several,
        };
        cpu.each(output.split(left.rows, parts), |mut part| {
            cpu.dispatch(Tiles {
                left,
                panels: &panels,
                first,
                part: &mut part,
                is_first: block == 0,
                is_last: block + 1 == count,
            });
        });
    }
}

/// The tiles of some rows.
struct Tiles<'a, 'b, T> {
    left: Matrix<'a, T>,
    panels: &'a pack::Panels<T>,
    first: usize,
    part: &'a mut output::Part<'b, T>,
    is_first: bool,
    is_last: bool,
}

impl<T: Element> WithSimd for Tiles<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let depth = self.panels.depth();
        let rows = self.part.rows();
        let tiles = rows.len().div_ceil(tile::rows::<S>());
        let group = (CACHED / (self.panels.panel_bytes()).max(1)).max(1);
        let mut sums = [T::default(); tile::MOST];
        for panels in (0..self.panels.count()).step_by(group) {
            let panels = panels..(panels + group).min(self.panels.count());
            for at in 0..tiles {
                // Tiles of almost equal height.
                let top = rows.start + at * rows.len() / tiles;
                let bottom = rows.start + (at + 1) * rows.len() / tiles;
                for panel in panels.clone() {
                    let (columns, width, packed) = self.panels.panel(panel);
                    tile::compute(
                        simd,
                        self.left,
                        top..bottom,
                        self.first,
                        depth,
                        packed,
                        &mut sums,
                    );
                    self.part.store(
                        &sums,
                        top..bottom,
                        columns,
                        width,
                        self.is_first,
                        self.is_last,
                    );
                }
            }
        }
    }
}
