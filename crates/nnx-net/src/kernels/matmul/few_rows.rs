//! Products of a few rows, such as one sample: each element of the other matrix is read once.

use pulp::{Simd, WithSimd};

use super::output::Finish;
use super::{FEW, Matrix};
use crate::kernels::cpu::Cpu;
use crate::kernels::element::Element;

/// The rows of the right matrix that are read side by side.
const SIDE: usize = 4;

/// Computes the products of at most [`FEW`] rows with the rows of another matrix; all rows are
/// contiguous.
pub(super) fn product<T: Element>(
    cpu: Cpu,
    left: Matrix<'_, T>,
    right: Matrix<'_, T>,
    finish: Finish<'_, T>,
    out: &mut [T],
) {
    if right.rows == 0 {
        return;
    }
    let parts = 2 * cpu.parts(right.rows * right.columns / 4);
    let each = right.rows.div_ceil(parts).next_multiple_of(SIDE);
    let mut tasks: Vec<(usize, Vec<&mut [T]>)> = (0..right.rows)
        .step_by(each)
        .map(|first| (first, Vec::new()))
        .collect();
    for row in out.chunks_exact_mut(right.rows) {
        let pieces = row.chunks_mut(each);
        tasks
            .iter_mut()
            .zip(pieces)
            .for_each(|(task, piece)| task.1.push(piece));
    }
    cpu.each(tasks, |(first, out)| {
        cpu.dispatch(Dots {
            left,
            right,
            first,
            out,
            finish,
        });
    });
}

struct Dots<'a, T> {
    left: Matrix<'a, T>,
    right: Matrix<'a, T>,
    /// The first row of the right matrix.
    first: usize,
    /// For each row of the left matrix the results with the right rows from the first one on.
    out: Vec<&'a mut [T]>,
    finish: Finish<'a, T>,
}

impl<T: Element> WithSimd for Dots<'_, T> {
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
        for (row, out) in self.out.into_iter().enumerate() {
            self.finish.apply(row, self.first, out);
        }
    }
}

impl<T: Element> Dots<'_, T> {
    #[inline(always)]
    fn rows<S: Simd, const ROWS: usize>(&mut self, simd: S) {
        let depth = self.left.columns;
        let left: [&[T]; ROWS] = std::array::from_fn(|row| self.left.row(row, 0, depth));
        let count = self.out.first().map_or(0, |out| out.len());
        for at in (0..count).step_by(SIDE) {
            // The last rows are read again where fewer than four are left.
            let right: [&[T]; SIDE] = std::array::from_fn(|n| {
                self.right
                    .row(self.first + (at + n).min(count - 1), 0, depth)
            });
            let sums = dots(simd, left, right);
            for (out, sums) in self.out.iter_mut().zip(sums) {
                out[at..]
                    .iter_mut()
                    .zip(sums)
                    .for_each(|(out, sum)| *out = sum);
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
