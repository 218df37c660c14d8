//! Attention over neighbours from candle's operations.

use candle_core::{D, DType, Result, Tensor};

use super::layer::{FLOOR, SLOPE};
use crate::kernels::adjacency::Adjacency;

/// The same as [`attend`](super::attend).
pub(super) fn composed(
    xs: &Tensor,
    of_sources: &Tensor,
    of_targets: &Tensor,
    graph: &Adjacency,
) -> Result<Tensor> {
    let scores = |of: &Tensor| xs.broadcast_mul(of)?.sum(D::Minus1);
    let sources = graph.at_sources(&scores(of_sources)?)?;
    let scores = (sources + graph.at_targets(&scores(of_targets)?)?)?;
    let is_low = scores.lt(0.0)?;
    let scores = is_low.where_cond(&(&scores * SLOPE)?, &scores)?;
    let largest = largest(&scores, graph)?;
    let powers = (&scores - graph.at_targets(&largest)?)?.exp()?;
    let sums = (graph.sum_at_targets(&powers)? + FLOOR)?;
    let weights = (powers / graph.at_targets(&sums)?)?;
    let messages = graph
        .at_sources(xs)?
        .broadcast_mul(&weights.unsqueeze(2)?)?;
    graph.sum_at_targets(&messages)
}

/// For each node and head the largest score of the edges that end at it.
fn largest(scores: &Tensor, graph: &Adjacency) -> Result<Tensor> {
    let rows = scores.detach().to_dtype(DType::F64)?.to_vec2::<f64>()?;
    let (edges, heads) = (graph.incoming(), scores.dim(1)?);
    let mut largest = vec![f64::NEG_INFINITY; edges.nodes() * heads];
    for (node, own) in largest.chunks_exact_mut(heads.max(1)).enumerate() {
        for row in &rows[edges.edges(node)] {
            for (largest, score) in own.iter_mut().zip(row) {
                *largest = largest.max(*score);
            }
        }
    }
    Tensor::from_vec(largest, (edges.nodes(), heads), scores.device())?.to_dtype(scores.dtype())
}
