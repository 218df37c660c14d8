//! The norm of a row by the root of its mean square.

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp2, D, Layout, Result, Shape, Tensor, WithDType};
use pulp::{Simd, WithSimd};

use super::dispatch::dispatch;
use super::float::Float;
use super::operand::{for_floats, operand, output};
use super::storage::{contiguous, is_for};
use super::{rows, threads};

/// `x / sqrt(mean(x²) + epsilon) · w` along the last axis, whose size is that of the weight.
///
/// # Errors
/// When the weight has another size than the last axis, or candle fails.
pub(crate) fn rms_norm(xs: &Tensor, weight: &Tensor, epsilon: f64) -> Result<Tensor> {
    if is_for(&[xs, weight]) {
        let (xs, weight) = (xs.contiguous()?, weight.contiguous()?);
        return xs.apply_op2(&weight, RmsNorm { epsilon });
    }
    let squares = xs.sqr()?.mean_keepdim(D::Minus1)?;
    let norms = (squares + epsilon)?.sqrt()?;
    xs.broadcast_div(&norms)?.broadcast_mul(weight)
}

struct RmsNorm {
    epsilon: f64,
}

/// The rows whose gradients of the weight are added up before those of other rows. The number does
/// not depend on the threads, so that neither does the sum.
const BLOCK: usize = 32;

impl CustomOp2 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms-norm"
    }

    fn cpu_fwd(
        &self,
        xs: &CpuStorage,
        shape: &Layout,
        weight: &CpuStorage,
        weight_shape: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        if weight_shape.dims() != [shape.shape().dim(D::Minus1)?] {
            candle_core::bail!("expected a weight for each element of a row");
        }
        for_floats!(xs.dtype(), T => {
            let xs = contiguous::<T>(xs, shape)?;
            let weight = contiguous::<T>(weight, weight_shape)?;
            let mut ys = vec![T::ZERO; xs.len()];
            let width = weight.len().max(1);
            let part = rows::per_thread(xs.len() / width, 2 * width) * width;
            threads::each(xs.chunks(part).zip(ys.chunks_mut(part)), |(xs, ys)| {
                let epsilon = T::from_f64(self.epsilon);
                dispatch(Forward { xs, weight, epsilon, ys });
            });
            Ok(output(ys, shape.shape()))
        })
    }

    fn bwd(
        &self,
        xs: &Tensor,
        weight: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let gradient = gradient.contiguous()?;
        for_floats!(xs.dtype(), T => {
            let (x, w, g) = (operand(xs), operand(weight), operand(&gradient));
            let weights = w.elements::<T>()?;
            let width = weights.len().max(1);
            let mut of_xs = g.elements::<T>()?.to_vec();
            let block = BLOCK * width;
            // A row of sums for each block of rows.
            let mut sums = vec![T::ZERO; of_xs.len().div_ceil(block) * width];
            let part = rows::per_thread(sums.len() / width, 4 * block);
            let tasks = x.elements::<T>()?.chunks(part * block);
            let tasks = tasks.zip(of_xs.chunks_mut(part * block)).zip(sums.chunks_mut(part * width));
            threads::each(tasks, |((xs, gradients), sums)| {
                let epsilon = T::from_f64(self.epsilon);
                let weight = weights;
                dispatch(Backward { xs, weight, epsilon, gradients, sums });
            });
            let mut of_weight = vec![T::ZERO; weights.len()];
            for sums in sums.chunks_exact(width) {
                for (sum, part) in of_weight.iter_mut().zip(sums) {
                    *sum += *part;
                }
            }
            Ok((
                Some(Tensor::from_vec(of_xs, xs.shape(), xs.device())?),
                Some(Tensor::from_vec(of_weight, weight.shape(), weight.device())?),
            ))
        })
    }
}

/// The inverse of the root of a row's mean square.
#[inline(always)]
fn inverse_root<T: Float>(row: &[T], epsilon: T) -> T {
    let squares = rows::fold(row, T::ZERO, |x| x * x, |a, b| a + b);
    #[expect(clippy::cast_precision_loss, reason = "no row is that long")]
    let mean = squares / T::from_f64(row.len() as f64);
    T::ONE / (mean + epsilon).sqrt()
}

struct Forward<'a, T> {
    xs: &'a [T],
    weight: &'a [T],
    epsilon: T,
    ys: &'a mut [T],
}

impl<T: Float> WithSimd for Forward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let width = self.weight.len().max(1);
        for (xs, ys) in self
            .xs
            .chunks_exact(width)
            .zip(self.ys.chunks_exact_mut(width))
        {
            let inverse = inverse_root(xs, self.epsilon);
            for ((y, x), w) in ys.iter_mut().zip(xs).zip(self.weight) {
                *y = *x * inverse * *w;
            }
        }
    }
}

/// With `r` as the inverse of the root: replaces gradients `g` by `r · (w g - x · r² · mean(w g x))`,
/// and adds `g x r` to the sums for the weight, one row of sums for a block of rows.
struct Backward<'a, T> {
    xs: &'a [T],
    weight: &'a [T],
    epsilon: T,
    gradients: &'a mut [T],
    sums: &'a mut [T],
}

impl<T: Float> WithSimd for Backward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let width = self.weight.len().max(1);
        #[expect(clippy::cast_precision_loss, reason = "no row is that long")]
        let count = T::from_f64(width as f64);
        let blocks = self
            .xs
            .chunks(BLOCK * width)
            .zip(self.gradients.chunks_mut(BLOCK * width));
        for ((xs, gradients), sums) in blocks.zip(self.sums.chunks_exact_mut(width)) {
            for (xs, gradients) in xs
                .chunks_exact(width)
                .zip(gradients.chunks_exact_mut(width))
            {
                let inverse = inverse_root(xs, self.epsilon);
                for ((sum, g), x) in sums.iter_mut().zip(&*gradients).zip(xs) {
                    *sum += *g * (*x * inverse);
                }
                for (g, w) in gradients.iter_mut().zip(self.weight) {
                    *g *= *w;
                }
                let mean = rows::sum_of_pairs(xs, gradients, |x, g| x * g) / count;
                let factor = inverse * inverse * mean;
                for (g, x) in gradients.iter_mut().zip(xs) {
                    *g = inverse * (*g - *x * factor);
                }
            }
        }
    }
}
