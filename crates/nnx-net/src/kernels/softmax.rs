//! Softmax over the last axis.

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp1, D, Layout, Result, Shape, Tensor};
use pulp::{Simd, WithSimd};

use super::dispatch::dispatch;
use super::float::Float;
use super::operand::{for_floats, operand, output};
use super::storage::{contiguous, is_for};
use super::{rows, threads};

/// Softmax over the last axis: `e^(x - m) / Σ e^(x - m)` with the row's maximum `m`.
///
/// A row that contains NaN or plus infinity, or only minus infinity, becomes NaN.
///
/// # Errors
/// When the tensor has no axis, or candle fails.
pub(crate) fn softmax(xs: &Tensor) -> Result<Tensor> {
    if is_for(&[xs]) {
        return xs.contiguous()?.apply_op1(Softmax);
    }
    let shifted = xs.broadcast_sub(&xs.detach().max_keepdim(D::Minus1)?)?;
    let powers = shifted.exp()?;
    powers.broadcast_div(&powers.sum_keepdim(D::Minus1)?)
}

struct Softmax;

impl CustomOp1 for Softmax {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let width = layout.shape().dim(D::Minus1)?.max(1);
        for_floats!(storage.dtype(), T => {
            let mut ys = contiguous::<T>(storage, layout)?.to_vec();
            let part = rows::per_thread(ys.len() / width, width * COST) * width;
            threads::each(ys.chunks_mut(part), |rows| {
                dispatch(Forward { rows, width });
            });
            Ok(output(ys, layout.shape()))
        })
    }

    fn bwd(&self, _: &Tensor, ys: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let gradient = gradient.contiguous()?;
        let width = ys.dim(D::Minus1)?.max(1);
        for_floats!(ys.dtype(), T => {
            let (y, g) = (operand(ys), operand(&gradient));
            let ys = y.elements::<T>()?;
            let mut gradients = g.elements::<T>()?.to_vec();
            let part = rows::per_thread(ys.len() / width, width) * width;
            let tasks = ys.chunks(part).zip(gradients.chunks_mut(part));
            threads::each(tasks, |(ys, gradients)| {
                dispatch(Backward { ys, gradients, width });
            });
            Ok(Some(Tensor::from_vec(gradients, gradient.shape(), gradient.device())?))
        })
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
