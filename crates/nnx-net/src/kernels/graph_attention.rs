//! Weighted sums of the rows of a node's neighbours, with weights by attention.

mod backward;
mod composed;
mod forward;
mod layer;

use candle_core::{Result, Shape, Tensor};

use self::composed::composed;
use self::layer::Layer;
use super::adjacency::Adjacency;
use super::cpu::Cpu;
use super::float::Float;
use super::operation::{Kernel, Operation, is_for};
use super::view::View;

/// For rows `x [N, heads, size]`, and a row of `of_sources` and of `of_targets [1, heads, size]` for
/// each head: `y_i = Σ_j α_ij x_j` over the edges from `j` to `i`, where `α` is the softmax over a
/// node's edges of `leaky_relu(s · x_j + t · x_i)` with a slope of 0.2. Heads are independent.
///
/// # Errors
/// When the shapes differ from these, or candle fails.
pub(crate) fn attend(
    cpu: Cpu,
    xs: &Tensor,
    of_sources: &Tensor,
    of_targets: &Tensor,
    graph: &Adjacency,
) -> Result<Tensor> {
    let (nodes, heads, size) = xs.dims3()?;
    let expected = [1, heads, size];
    if nodes != graph.incoming().nodes()
        || of_sources.dims() != expected
        || of_targets.dims() != expected
    {
        candle_core::bail!("expected a row for each node, and for each head one of each kind");
    }
    if !is_for(&[xs, of_sources, of_targets]) {
        return composed(xs, of_sources, of_targets, graph);
    }
    let operation = Operation(GraphAttention {
        cpu,
        graph: graph.clone(),
        heads,
        size,
    });
    xs.contiguous()?.apply_op3(
        &of_sources.contiguous()?,
        &of_targets.contiguous()?,
        operation,
    )
}

struct GraphAttention {
    cpu: Cpu,
    graph: Adjacency,
    heads: usize,
    size: usize,
}

impl Kernel<3> for GraphAttention {
    const NAME: &'static str = "graph-attention";

    fn forward<T: Float>(&self, inputs: [View<'_>; 3]) -> Result<(Vec<T>, Shape)> {
        let shape = inputs[0].layout.shape().clone();
        Ok((Layer::new(self, inputs)?.sums(), shape))
    }

    fn backward<T: Float>(
        &self,
        inputs: [View<'_>; 3],
        _: [bool; 3],
        _: &[T],
        gradient: &[T],
    ) -> Result<[Option<Vec<T>>; 3]> {
        let gradients = Layer::new(self, inputs)?.gradients(gradient);
        Ok(gradients.map(Some))
    }
}
