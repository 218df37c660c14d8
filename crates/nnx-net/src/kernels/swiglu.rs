//! A gate: the product of one tensor's SiLU and another tensor.

use candle_core::{Result, Shape, Tensor};
use pulp::{Simd, WithSimd};

use super::cpu::Cpu;
use super::float::Float;
use super::operation::{Kernel, Operation, is_for};
use super::view::View;

/// `silu(gate) · x`, element by element, where `silu(x) = x / (1 + e^-x)`.
///
/// # Errors
/// When the shapes differ, or candle fails.
pub(crate) fn swiglu(cpu: Cpu, gate: &Tensor, xs: &Tensor) -> Result<Tensor> {
    if is_for(&[gate, xs]) && gate.dims() == xs.dims() {
        let operation = Operation(SwiGlu { cpu });
        return gate.contiguous()?.apply_op2(&xs.contiguous()?, operation);
    }
    gate.silu()? * xs
}

struct SwiGlu {
    cpu: Cpu,
}

/// The operations for one element, about.
const COST: usize = 12;

impl Kernel<2> for SwiGlu {
    const NAME: &'static str = "swiglu";

    fn forward<T: Float>(&self, [gates, xs]: [View<'_>; 2]) -> Result<(Vec<T>, Shape)> {
        let gates = gates.elements::<T>()?;
        let mut ys = xs.elements::<T>()?.to_vec();
        let part = self.cpu.rows_per_thread(ys.len(), COST);
        let tasks = gates.chunks(part).zip(ys.chunks_mut(part));
        self.cpu.each(tasks, |(gates, ys)| {
            self.cpu.dispatch(Forward { gates, ys });
        });
        Ok((ys, xs.layout.shape().clone()))
    }

    fn backward<T: Float>(
        &self,
        [gates, xs]: [View<'_>; 2],
        _: [bool; 2],
        _: &[T],
        gradient: &[T],
    ) -> Result<[Option<Vec<T>>; 2]> {
        let gates = gates.elements::<T>()?;
        let mut of_xs = gradient.to_vec();
        let mut of_gates = xs.elements::<T>()?.to_vec();
        let part = self.cpu.rows_per_thread(gates.len(), 2 * COST);
        let tasks = of_gates.chunks_mut(part).zip(of_xs.chunks_mut(part));
        let tasks = gates.chunks(part).zip(tasks);
        self.cpu.each(tasks, |(gates, (of_gates, of_xs))| {
            self.cpu.dispatch(Backward {
                gates,
                of_gates,
                of_xs,
            });
        });
        Ok([Some(of_gates), Some(of_xs)])
    }
}

/// Multiplies by the SiLU of the gates.
struct Forward<'a, T> {
    gates: &'a [T],
    ys: &'a mut [T],
}

impl<T: Float> WithSimd for Forward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (y, gate) in self.ys.iter_mut().zip(self.gates) {
            *y *= *gate / (T::ONE + (T::ZERO - *gate).exp());
        }
    }
}

/// Replaces what was multiplied by the gates' gradients, and the gradients of the product by those of
/// what was multiplied.
struct Backward<'a, T> {
    gates: &'a [T],
    of_gates: &'a mut [T],
    of_xs: &'a mut [T],
}

impl<T: Float> WithSimd for Backward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let gradients = self.of_gates.iter_mut().zip(self.of_xs);
        for ((x, g), gate) in gradients.zip(self.gates) {
            let sigmoid = T::ONE / (T::ONE + (T::ZERO - *gate).exp());
            let silu = *gate * sigmoid;
            *x *= *g * (sigmoid * (T::ONE + *gate * (T::ONE - sigmoid)));
            *g *= silu;
        }
    }
}
