//! Weighted sums of the rows of a node's neighbours, with weights by attention.

mod backward;
mod composed;
mod forward;
mod layer;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Tensor};

use self::composed::composed;
use self::layer::Layer;
use super::adjacency::Adjacency;
use super::operand::{for_floats, operand, output};
use super::storage::{contiguous, is_for};

/// For rows `x [N, heads, size]`, and a row of `of_sources` and of `of_targets [1, heads, size]` for
/// each head: `y_i = Σ_j α_ij x_j` over the edges from `j` to `i`, where `α` is the softmax over a
/// node's edges of `leaky_relu(s · x_j + t · x_i)` with a slope of 0.2. Heads are independent.
///
/// # Errors
/// When the shapes differ from these, or candle fails.
pub(crate) fn attend(
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
    let op = GraphAttention {
        graph: graph.clone(),
        heads,
        size,
    };
    xs.contiguous()?
        .apply_op3(&of_sources.contiguous()?, &of_targets.contiguous()?, op)
}

struct GraphAttention {
    graph: Adjacency,
    heads: usize,
    size: usize,
}

impl CustomOp3 for GraphAttention {
    fn name(&self) -> &'static str {
        "graph-attention"
    }

    fn cpu_fwd(
        &self,
        xs: &CpuStorage,
        layout: &Layout,
        of_sources: &CpuStorage,
        of_sources_layout: &Layout,
        of_targets: &CpuStorage,
        of_targets_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        for_floats!(xs.dtype(), T => {
            let layer = Layer::new(
                self,
                contiguous::<T>(xs, layout)?,
                contiguous::<T>(of_sources, of_sources_layout)?,
                contiguous::<T>(of_targets, of_targets_layout)?,
            );
            Ok(output(layer.sums(), layout.shape()))
        })
    }

    fn bwd(
        &self,
        xs: &Tensor,
        of_sources: &Tensor,
        of_targets: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let gradient = gradient.contiguous()?;
        for_floats!(xs.dtype(), T => {
            let operands = [xs, of_sources, of_targets, &gradient].map(operand);
            let [x, s, t, g] = &operands;
            let layer = Layer::new(self, x.elements::<T>()?, s.elements()?, t.elements()?);
            let gradients = layer.gradients(g.elements::<T>()?);
            let like = |elements, tensor: &Tensor| {
                Tensor::from_vec(elements, tensor.shape(), tensor.device()).map(Some)
            };
            Ok((
                like(gradients.of_xs, xs)?,
                like(gradients.of_sources, of_sources)?,
                like(gradients.of_targets, of_targets)?,
            ))
        })
    }
}
