//! The negative logarithm of a class's softmax.

use std::sync::OnceLock;

use candle_core::{D, Result, Shape, Tensor, WithDType};
use pulp::{Simd, WithSimd};

use super::cpu::Cpu;
use super::float::Float;
use super::operation::{Kernel, Operation, is_for};
use super::rows;
use super::view::View;

/// The sum of the losses `ln Σ e^x - x_c` of the rows of logits `[N, classes]`, each with its class
/// `c`; a row without a class does not count.
///
/// # Errors
/// When there is not an entry for each row, a class is not below the number of columns, or candle
/// fails.
pub(crate) fn cross_entropy(
    cpu: Cpu,
    logits: &Tensor,
    classes: Vec<Option<u32>>,
) -> Result<Tensor> {
    let (count, width) = logits.dims2()?;
    if classes.len() != count
        || classes
            .iter()
            .flatten()
            .any(|class| *class as usize >= width)
    {
        candle_core::bail!("expected a class below `{width}` for each of `{count}` rows");
    }
    if !is_for(&[logits]) {
        return chosen(&log_softmax(logits)?, &classes)?.neg()?.sum_all();
    }
    let operation = Operation(CrossEntropy {
        cpu,
        classes,
        sums: OnceLock::new(),
    });
    logits.contiguous()?.apply_op1(operation)?.sum_all()
}

/// The element of each row's class, for the rows that have one.
///
/// # Errors
/// When a class is not below the number of columns, or candle fails.
pub(crate) fn chosen(table: &Tensor, classes: &[Option<u32>]) -> Result<Tensor> {
    let rows = (0..).zip(classes);
    let (rows, columns): (Vec<u32>, Vec<u32>) = rows
        .filter_map(|(row, class)| Some((row, (*class)?)))
        .unzip();
    let device = table.device();
    let columns = Tensor::new(columns, device)?.unsqueeze(1)?;
    let rows = table.index_select(&Tensor::new(rows, device)?, 0)?;
    rows.gather(&columns, 1)
}

/// The logarithm of the softmax over the last axis.
///
/// # Errors
/// When candle fails.
pub(crate) fn log_softmax(xs: &Tensor) -> Result<Tensor> {
    let shifted = xs.broadcast_sub(&xs.detach().max_keepdim(D::Minus1)?)?;
    let sums = shifted.exp()?.sum_keepdim(D::Minus1)?;
    shifted.broadcast_sub(&sums.log()?)
}

/// The loss of each row; 0 where it has no class.
struct CrossEntropy {
    cpu: Cpu,
    classes: Vec<Option<u32>>,
    /// The largest logit of each row, and the logarithm of the sum of the powers of the others'
    /// distances from it. The backward pass needs both.
    sums: OnceLock<Vec<[f64; 2]>>,
}

impl Kernel<1> for CrossEntropy {
    const NAME: &'static str = "cross-entropy";

    fn forward<T: Float>(&self, [logits]: [View<'_>; 1]) -> Result<(Vec<T>, Shape)> {
        let (count, width) = logits.layout.shape().dims2()?;
        let logits = logits.elements::<T>()?;
        let mut sums = vec![[T::ZERO; 2]; count];
        let part = self.cpu.rows_per_thread(count, 8 * width);
        let tasks = logits
            .chunks((part * width).max(1))
            .zip(sums.chunks_mut(part));
        self.cpu.each(tasks, |(logits, sums)| {
            self.cpu.dispatch(Sums {
                logits,
                width,
                sums,
            });
        });
        let rows = logits.chunks_exact(width.max(1));
        let rows = rows.zip(&self.classes).zip(&sums);
        let losses = rows.map(|((row, class), [largest, log])| match class {
            Some(class) => *log - (row[*class as usize] - *largest),
            None => T::ZERO,
        });
        let losses: Vec<T> = losses.collect();
        let sums = sums.into_iter().map(|sums| sums.map(WithDType::to_f64));
        // A second forward pass of the same operation would give the same sums.
        let _ = self.sums.set(sums.collect());
        Ok((losses, count.into()))
    }

    fn backward<T: Float>(
        &self,
        [logits]: [View<'_>; 1],
        _: [bool; 1],
        _: &[T],
        gradient: &[T],
    ) -> Result<[Option<Vec<T>>; 1]> {
        let Some(sums) = self.sums.get() else {
            candle_core::bail!("the backward pass of a loss comes after its forward pass");
        };
        let (count, width) = logits.layout.shape().dims2()?;
        let mut of_logits = logits.elements::<T>()?.to_vec();
        let part = self.cpu.rows_per_thread(count, 8 * width);
        let tasks = of_logits
            .chunks_mut((part * width).max(1))
            .zip(gradient.chunks(part))
            .zip(self.classes.chunks(part))
            .zip(sums.chunks(part));
        self.cpu
            .each(tasks, |(((rows, gradients), classes), sums)| {
                self.cpu.dispatch(Backward {
                    rows,
                    width,
                    gradients,
                    classes,
                    sums,
                });
            });
        Ok([Some(of_logits)])
    }
}

/// Computes the sums of rows.
struct Sums<'a, T> {
    logits: &'a [T],
    width: usize,
    sums: &'a mut [[T; 2]],
}

impl<T: Float> WithSimd for Sums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (row, sums) in self.logits.chunks_exact(self.width.max(1)).zip(self.sums) {
            let largest = rows::largest(row);
            let sum = rows::fold(row, T::ZERO, |x| (x - largest).exp(), |a, b| a + b);
            *sums = [largest, sum.ln()];
        }
    }
}

/// Replaces logits by their gradients: `g · softmax`, from which `g` is subtracted at the class.
struct Backward<'a, T> {
    rows: &'a mut [T],
    width: usize,
    gradients: &'a [T],
    classes: &'a [Option<u32>],
    sums: &'a [[f64; 2]],
}

impl<T: Float> WithSimd for Backward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let rows = self
            .rows
            .chunks_exact_mut(self.width.max(1))
            .zip(self.gradients);
        for (((row, gradient), class), sums) in rows.zip(self.classes).zip(self.sums) {
            let [largest, log] = sums.map(T::from_f64);
            let Some(class) = class else {
                // Zero times the softmax, as in PyTorch: NaN where the softmax is NaN.
                row.fill(T::ZERO * log);
                continue;
            };
            for x in &mut *row {
                *x = *gradient * (*x - largest - log).exp();
            }
            row[*class as usize] -= *gradient;
        }
    }
}
