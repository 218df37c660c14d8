//! Softmax over the last axis.

use candle_core::{D, Result, Shape, Tensor};
use pulp::{Simd, WithSimd};

use super::cpu::Cpu;
use super::float::Float;
use super::operation::{Kernel, Operation, is_for};
use super::rows;
use super::view::View;

/// Softmax over the last axis: `e^(x - m) / Σ e^(x - m)` with the row's maximum `m`.
///
/// A row that contains NaN or plus infinity, or only minus infinity, becomes NaN.
///
/// # Errors
/// When the tensor has no axis, or candle fails.
pub(crate) fn softmax(cpu: Cpu, xs: &Tensor) -> Result<Tensor> {
    if is_for(&[xs]) {
        return xs.contiguous()?.apply_op1(Operation(Softmax { cpu }));
    }
    let shifted = xs.broadcast_sub(&xs.detach().max_keepdim(D::Minus1)?)?;
    let powers = shifted.exp()?;
    powers.broadcast_div(&powers.sum_keepdim(D::Minus1)?)
}

struct Softmax {
    cpu: Cpu,
}

impl Kernel<1> for Softmax {
    const NAME: &'static str = "softmax";

    fn forward<T: Float>(&self, [xs]: [View<'_>; 1]) -> Result<(Vec<T>, Shape)> {
        let shape = xs.layout.shape();
        let width = shape.dim(D::Minus1)?.max(1);
        let mut ys = xs.elements::<T>()?.to_vec();
        let part = self.cpu.rows_per_thread(ys.len() / width, width * COST) * width;
        self.cpu.each(ys.chunks_mut(part), |rows| {
            self.cpu.dispatch(Forward { rows, width });
        });
        Ok((ys, shape.clone()))
    }

    fn backward<T: Float>(
        &self,
        [xs]: [View<'_>; 1],
        _: [bool; 1],
        ys: &[T],
        gradient: &[T],
    ) -> Result<[Option<Vec<T>>; 1]> {
        let width = xs.layout.shape().dim(D::Minus1)?.max(1);
        let mut gradients = gradient.to_vec();
        let part = self.cpu.rows_per_thread(ys.len() / width, width) * width;
        let tasks = ys.chunks(part).zip(gradients.chunks_mut(part));
        self.cpu.each(tasks, |(ys, gradients)| {
            self.cpu.dispatch(Backward {
                ys,
                gradients,
                width,
            });
        });
        Ok([Some(gradients)])
    }
}

/// An exponential in multiplications, about.
const COST: usize = 8;

/// Replaces rows by their softmax.
struct Forward<'a, T> {
    rows: &'a mut [T],
    width: usize,
}

impl<T: Float> WithSimd for Forward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for row in self.rows.chunks_exact_mut(self.width) {
            let largest = rows::largest(row);
            let sum = exponentials(row, largest);
            for x in row {
                *x /= sum;
            }
        }
    }
}

/// Replaces each element by `e^(x - shift)`, and returns the sum of these.
#[inline(always)]
pub(super) fn exponentials<T: Float>(row: &mut [T], shift: T) -> T {
    for x in &mut *row {
        *x = (*x - shift).exp();
    }
    rows::fold(row, T::ZERO, |x| x, |a, b| a + b)
}

/// Replaces gradients `g` of the softmax `y` by those of its arguments, `y · (g - Σ y g)`.
struct Backward<'a, T> {
    ys: &'a [T],
    gradients: &'a mut [T],
    width: usize,
}

impl<T: Float> WithSimd for Backward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let gradients = self.gradients.chunks_exact_mut(self.width);
        for (ys, gradients) in self.ys.chunks_exact(self.width).zip(gradients) {
            let mean = rows::sum_of_pairs(ys, gradients, |y, g| y * g);
            for (gradient, y) in gradients.iter_mut().zip(ys) {
                *gradient = *y * (*gradient - mean);
            }
        }
    }
}
