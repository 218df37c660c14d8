//! The norm of a row by the root of its mean square.

use candle_core::{D, Result, Shape, Tensor};
use pulp::{Simd, WithSimd};

use super::cpu::Cpu;
use super::float::Float;
use super::operation::{Kernel, Operation, is_for};
use super::rows;
use super::view::View;

/// `x / sqrt(mean(x²) + epsilon) · w` along the last axis, whose size is that of the weight.
///
/// # Errors
/// When the weight has another size than the last axis, or candle fails.
pub(crate) fn rms_norm(cpu: Cpu, xs: &Tensor, weight: &Tensor, epsilon: f64) -> Result<Tensor> {
    if is_for(&[xs, weight]) {
        let (xs, weight) = (xs.contiguous()?, weight.contiguous()?);
        return xs.apply_op2(&weight, Operation(RmsNorm { cpu, epsilon }));
    }
    let squares = xs.sqr()?.mean_keepdim(D::Minus1)?;
    let norms = (squares + epsilon)?.sqrt()?;
    xs.broadcast_div(&norms)?.broadcast_mul(weight)
}

struct RmsNorm {
    cpu: Cpu,
    epsilon: f64,
}

/// The rows whose gradients of the weight are added up before those of other rows. The number does
/// not depend on the threads, so that neither does the sum.
const BLOCK: usize = 32;

impl Kernel<2> for RmsNorm {
    const NAME: &'static str = "rms-norm";

    fn forward<T: Float>(&self, [xs, weight]: [View<'_>; 2]) -> Result<(Vec<T>, Shape)> {
        let shape = xs.layout.shape();
        if weight.dims() != [shape.dim(D::Minus1)?] {
            candle_core::bail!("expected a weight for each element of a row");
        }
        let (xs, weight) = (xs.elements::<T>()?, weight.elements::<T>()?);
        let mut ys = vec![T::ZERO; xs.len()];
        let width = weight.len().max(1);
        let epsilon = T::from_f64(self.epsilon);
        let part = self.cpu.rows_per_thread(xs.len() / width, 2 * width) * width;
        let tasks = xs.chunks(part).zip(ys.chunks_mut(part));
        self.cpu.each(tasks, |(xs, ys)| {
            self.cpu.dispatch(Forward {
                xs,
                weight,
                epsilon,
                ys,
            });
        });
        Ok((ys, shape.clone()))
    }

    fn backward<T: Float>(
        &self,
        [xs, weight]: [View<'_>; 2],
        _: [bool; 2],
        _: &[T],
        gradient: &[T],
    ) -> Result<[Option<Vec<T>>; 2]> {
        let (xs, weight) = (xs.elements::<T>()?, weight.elements::<T>()?);
        let width = weight.len().max(1);
        let epsilon = T::from_f64(self.epsilon);
        let mut of_xs = gradient.to_vec();
        let block = BLOCK * width;
        // A row of sums for each block of rows.
        let mut sums = vec![T::ZERO; of_xs.len().div_ceil(block) * width];
        let part = self.cpu.rows_per_thread(sums.len() / width, 4 * block);
        let tasks = xs
            .chunks(part * block)
            .zip(of_xs.chunks_mut(part * block))
            .zip(sums.chunks_mut(part * width));
        self.cpu.each(tasks, |((xs, gradients), sums)| {
            self.cpu.dispatch(Backward {
                xs,
                weight,
                epsilon,
                gradients,
                sums,
            });
        });
        let mut of_weight = vec![T::ZERO; weight.len()];
        for sums in sums.chunks_exact(width) {
            for (sum, part) in of_weight.iter_mut().zip(sums) {
                *sum += *part;
            }
        }
        Ok([Some(of_xs), Some(of_weight)])
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
