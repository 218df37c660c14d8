//! A gate: the product of one tensor's SiLU and another tensor.

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor};
use pulp::{Simd, WithSimd};

use super::dispatch::dispatch;
use super::float::Float;
use super::operand::{for_floats, operand, output};
use super::storage::{contiguous, is_for};
use super::{rows, threads};

/// `silu(gate) · x`, element by element, where `silu(x) = x / (1 + e^-x)`.
///
/// # Errors
/// When the shapes differ, or candle fails.
pub(crate) fn swiglu(gate: &Tensor, xs: &Tensor) -> Result<Tensor> {
    if is_for(&[gate, xs]) && gate.dims() == xs.dims() {
        return gate.contiguous()?.apply_op2(&xs.contiguous()?, SwiGlu);
    }
    gate.silu()? * xs
}

struct SwiGlu;

/// The operations for one element, about.
const COST: usize = 12;

impl CustomOp2 for SwiGlu {
    fn name(&self) -> &'static str {
        "swiglu"
    }

    fn cpu_fwd(
        &self,
        gates: &CpuStorage,
        gates_layout: &Layout,
        xs: &CpuStorage,
        xs_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        for_floats!(gates.dtype(), T => {
            let gates = contiguous::<T>(gates, gates_layout)?;
            let mut ys = contiguous::<T>(xs, xs_layout)?.to_vec();
            let part = rows::per_thread(ys.len(), COST);
            threads::each(gates.chunks(part).zip(ys.chunks_mut(part)), |(gates, ys)| {
                dispatch(Forward { gates, ys });
            });
            Ok(output(ys, xs_layout.shape()))
        })
    }

    fn bwd(
        &self,
        gate: &Tensor,
        xs: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let gradient = gradient.contiguous()?;
        for_floats!(gate.dtype(), T => {
            let (gates, xs, g) = (operand(gate), operand(xs), operand(&gradient));
            let gates = gates.elements::<T>()?;
            let mut of_xs = g.elements::<T>()?.to_vec();
            let mut of_gates = xs.elements::<T>()?.to_vec();
            let part = rows::per_thread(gates.len(), 2 * COST);
            let tasks = of_gates.chunks_mut(part).zip(of_xs.chunks_mut(part));
            threads::each(gates.chunks(part).zip(tasks), |(gates, (of_gates, of_xs))| {
                dispatch(Backward { gates, of_gates, of_xs });
            });
            let tensor = |elements| Tensor::from_vec(elements, gate.shape(), gate.device());
            Ok((Some(tensor(of_gates)?), Some(tensor(of_xs)?)))
        })
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
