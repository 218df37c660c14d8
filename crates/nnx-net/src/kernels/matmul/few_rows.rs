//! Products of a few rows, such as one sample: each element of the other matrix is read once.

use pulp::{Simd, WithSimd};

use super::FEW;
use super::output::{Output, Part};
use crate::kernels::cpu::Cpu;
use crate::kernels::element::Element;
use crate::kernels::matrix::Matrix;

/// The rows of the right matrix that are read side by side.
const SIDE: usize = 4;

/// Computes the products of at most [`FEW`] rows with the rows of another matrix; all rows are
/// contiguous. The rows of the other matrix are columns of the result.
pub(super) fn product<T: Element>(
    cpu: Cpu,
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    mut output: Output<'_, T>,
) {
    let parts = 2 * cpu.parts(right.rows * right.columns / 4);
    cpu.each(output.split(right.rows, parts), |part| {
        cpu.dispatch(Dots { left, right, part });
    });
}

struct Dots<'a, 'b, T> {
    left: Matrix<'a, T>,
    right: Matrix<'a, T>,
    part: Part<'b, T>,
}

impl<T: Element> WithSimd for Dots<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        match self.left.rows {
            1 => self.rows::<S, 1>(simd),
            2 => self.rows::<S, 2>(simd),
            3 => self.rows::<S, 3>(simd),
            FEW => self.rows::<S, FEW>(simd),
            _ => {}
        }
        self.part.finish_rows();
    }
}

impl<T: Element> Dots<'_, '_, T> {
    #[inline(always)]
    fn rows<S: Simd, const ROWS: usize>(&mut self, simd: S) {
        let depth = self.left.columns;
        let left: [&[T]; ROWS] = std::array::from_fn(|row| self.left.row(row, 0, depth));
        let rows = self.part.rows();
        for at in rows.clone().step_by(SIDE) {
            // The last rows are read again where fewer than four are left.
            let right: [&[T]; SIDE] =
                std::array::from_fn(|n| self.right.row((at + n).min(rows.end - 1), 0, depth));
            let columns = at..rows.end.min(at + SIDE);
            for (row, sums) in dots(simd, left, right).iter().enumerate() {
                self.part.store_row(row, columns.clone(), sums);
            }
        }
    }
}

#[inline(always)]
fn dots<S: Simd, T: Element, const ROWS: usize>(
    simd: S,
    left: [&[T]; ROWS],
    right: [&[T]; SIDE],
) -> [[T; SIDE]; ROWS] {
    let zero = T::splat(simd, T::default());
    let mut sums = [[zero; SIDE]; ROWS];
    let (whole, rest) = (left.map(T::lanes::<S>), right.map(T::lanes::<S>));
    let count = whole.first().map_or(0, |(whole, _)| whole.len());
    let (a, b) = (
        whole.map(|(whole, _)| &whole[..count]),
        rest.map(|(whole, _)| &whole[..count]),
    );
    for at in 0..count {
        for (sums, a) in sums.iter_mut().zip(&a) {
            for (sum, b) in sums.iter_mut().zip(&b) {
                *sum = T::mul_add(simd, a[at], b[at], *sum);
            }
        }
    }
    let mut out = sums.map(|sums| sums.map(|sum| T::sum(simd, sum)));
    for (out, (_, a)) in out.iter_mut().zip(whole) {
        for (out, (_, b)) in out.iter_mut().zip(rest) {
            *out += a
                .iter()
                .zip(b)
                .fold(T::default(), |sum, (a, b)| sum + *a * *b);
        }
    }
    out
}
