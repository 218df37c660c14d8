//! Zero at and below zero.

use candle_core::{Result, Shape, Tensor};

use super::cpu::Cpu;
use super::element::Element;
use super::float::Float;
use super::operation::{Kernel, Operation, is_for};
use super::view::View;

/// Sets what is at or below zero to zero; NaN stays, as in PyTorch. candle's own `relu` turns it into
/// zero.
///
/// # Errors
/// When candle fails.
pub(crate) fn relu(cpu: Cpu, xs: &Tensor) -> Result<Tensor> {
    if is_for(&[xs]) {
        return xs.contiguous()?.apply_op1(Operation(Relu { cpu }));
    }
    xs.le(0.0)?.where_cond(&xs.zeros_like()?, xs)
}

struct Relu {
    cpu: Cpu,
}

impl Kernel<1> for Relu {
    const NAME: &'static str = "relu";

    fn forward<T: Float>(&self, [xs]: [View<'_>; 1]) -> Result<(Vec<T>, Shape)> {
        let mut ys = xs.elements::<T>()?.to_vec();
        let part = self.cpu.rows_per_thread(ys.len(), 1);
        self.cpu.each(ys.chunks_mut(part), zero_low);
        Ok((ys, xs.layout.shape().clone()))
    }

    fn backward<T: Float>(
        &self,
        _: [View<'_>; 1],
        _: [bool; 1],
        result: &[T],
        gradient: &[T],
    ) -> Result<[Option<Vec<T>>; 1]> {
        Ok([Some(gradient_before(result, gradient))])
    }
}

/// Sets numbers at and below zero to zero.
#[inline(always)]
pub(super) fn zero_low<T: Element>(xs: &mut [T]) {
    let zero = T::default();
    // A comparison with NaN does not hold, so that NaN stays.
    xs.iter_mut()
        .for_each(|x| *x = if *x <= zero { zero } else { *x });
}

/// The gradient of what became the result: zero where the result is not above zero and not NaN.
pub(super) fn gradient_before<T: Element>(result: &[T], gradient: &[T]) -> Vec<T> {
    let zero = T::default();
    let pairs = result.iter().zip(gradient);
    pairs
        .map(|(y, gradient)| if *y <= zero { zero } else { *gradient })
        .collect()
}
