//! Weighted sums of the rows of a node's neighbours, with weights by attention.

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp3, D, DType, Layout, Result, Shape, Tensor};
use pulp::{Simd, WithSimd};

use super::adjacency::Adjacency;
use super::dispatch::dispatch;
use super::float::Float;
use super::operand::{for_floats, operand, output};
use super::storage::{contiguous, is_for};
use super::{rows, threads};

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

/// The same from candle's operations.
fn composed(
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

struct GraphAttention {
    graph: Adjacency,
    heads: usize,
    size: usize,
}

/// The slope below zero of PyG's `GATConv`.
const SLOPE: f64 = 0.2;

/// What PyG's softmax adds to its denominators.
const FLOOR: f64 = 1e-16;

/// The nodes of one task; sums over all nodes are added up in tasks first, whose size does not depend
/// on the number of threads.
const NODES: usize = 256;

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
            let mut sums = vec![T::ZERO; layer.xs.len()];
            let mut weights = vec![T::ZERO; self.graph.incoming().len() * self.heads];
            let tasks = layer.tasks(&mut weights).zip(sums.chunks_mut(layer.rows_of_task()));
            threads::each(tasks, |((first, weights), sums)| {
                dispatch(Forward { layer: &layer, first, weights, sums });
            });
            Ok(output(sums, layout.shape()))
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
            let gradients = layer.backward(g.elements::<T>()?);
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

/// The operands of the layer, and the scores of each node as a source and as a target `[N, heads]`.
struct Layer<'a, T> {
    op: &'a GraphAttention,
    xs: &'a [T],
    of_sources: &'a [T],
    of_targets: &'a [T],
    source_scores: Vec<T>,
    target_scores: Vec<T>,
}

struct Gradients<T> {
    of_xs: Vec<T>,
    of_sources: Vec<T>,
    of_targets: Vec<T>,
}

impl<'a, T: Float> Layer<'a, T> {
    fn new(op: &'a GraphAttention, xs: &'a [T], of_sources: &'a [T], of_targets: &'a [T]) -> Self {
        let scores = |of: &[T]| {
            let mut scores = vec![T::ZERO; xs.len() / op.size.max(1)];
            let part = NODES * op.heads.max(1);
            let tasks = xs
                .chunks((part * op.size).max(1))
                .zip(scores.chunks_mut(part));
            threads::each(tasks, |(xs, scores)| {
                dispatch(Scores {
                    xs,
                    of,
                    size: op.size,
                    scores,
                });
            });
            scores
        };
        Self {
            op,
            xs,
            of_sources,
            of_targets,
            source_scores: scores(of_sources),
            target_scores: scores(of_targets),
        }
    }

    /// The elements of the rows of a task.
    fn rows_of_task(&self) -> usize {
        (NODES * self.op.heads * self.op.size).max(1)
    }

    /// The first node of each task, and the part of numbers `[edges, heads]` that belongs to its edges.
    fn tasks<'b>(
        &self,
        mut edges: &'b mut [T],
    ) -> impl ExactSizeIterator<Item = (usize, &'b mut [T])> + Send {
        let incoming = self.op.graph.incoming();
        let (nodes, heads) = (incoming.nodes(), self.op.heads);
        (0..nodes).step_by(NODES).map(move |first| {
            let last = (first + NODES).min(nodes) - 1;
            let count = incoming.edges(last).end - incoming.edges(first).start;
            let (own, rest) = std::mem::take(&mut edges).split_at_mut(count * heads);
            edges = rest;
            (first, own)
        })
    }

    /// The row of a node and head.
    #[inline(always)]
    fn row<'b>(&self, rows: &'b [T], node: usize, head: usize) -> &'b [T] {
        let start = (node * self.op.heads + head) * self.op.size;
        &rows[start..start + self.op.size]
    }

    /// The score of an edge before `leaky_relu`.
    #[inline(always)]
    fn score(&self, source: usize, target: usize, head: usize) -> T {
        let heads = self.op.heads;
        self.source_scores[source * heads + head] + self.target_scores[target * heads + head]
    }

    /// Sets the weights of a node's edges `[edges, heads]`.
    #[inline(always)]
    fn weigh(&self, node: usize, weights: &mut [T]) {
        let heads = self.op.heads;
        let incoming = self.op.graph.incoming();
        let sources = &incoming.neighbours()[incoming.edges(node)];
        let slope = T::from_f64(SLOPE);
        for head in 0..heads {
            let mut largest = T::NEG_INFINITY;
            for (weights, source) in weights.chunks_exact_mut(heads).zip(sources) {
                let score = self.score(*source as usize, node, head);
                let score = if score < T::ZERO {
                    score * slope
                } else {
                    score
                };
                weights[head] = score;
                if score > largest {
                    largest = score;
                }
            }
            // Subtracting the largest score of a node changes no weight and avoids an overflow.
            let mut sum = T::ZERO;
            for weights in weights.chunks_exact_mut(heads) {
                weights[head] = (weights[head] - largest).exp();
                sum += weights[head];
            }
            sum += T::from_f64(FLOOR);
            for weights in weights.chunks_exact_mut(heads) {
                weights[head] /= sum;
            }
        }
    }

    fn backward(&self, gradients: &[T]) -> Gradients<T> {
        let GraphAttention { graph, heads, size } = self.op;
        let width = heads * size;
        let nodes = graph.incoming().nodes();
        let edges = graph.incoming().len() * heads;
        let (mut weights, mut of_scores) = (vec![T::ZERO; edges], vec![T::ZERO; edges]);
        let mut of_target_scores = vec![T::ZERO; nodes * heads];
        let tasks = self.tasks(&mut weights).zip(self.tasks(&mut of_scores));
        let tasks = tasks.zip(of_target_scores.chunks_mut((NODES * heads).max(1)));
        threads::each(
            tasks,
            |(((first, weights), (_, of_scores)), of_target_scores)| {
                dispatch(EdgeGradients {
                    layer: self,
                    first,
                    gradients,
                    weights,
                    of_scores,
                    of_target_scores,
                });
            },
        );
        let mut of_xs = vec![T::ZERO; self.xs.len()];
        let parts = nodes.div_ceil(NODES) * width;
        let (mut of_sources, mut of_targets) = (vec![T::ZERO; parts], vec![T::ZERO; parts]);
        let tasks = of_sources
            .chunks_mut(width.max(1))
            .zip(of_targets.chunks_mut(width.max(1)));
        let tasks = tasks.zip(of_xs.chunks_mut(self.rows_of_task()));
        threads::each(
            tasks.enumerate(),
            |(task, ((of_sources, of_targets), of_xs))| {
                dispatch(NodeGradients {
                    layer: self,
                    first: task * NODES,
                    gradients,
                    weights: &weights,
                    of_scores: &of_scores,
                    of_target_scores: &of_target_scores,
                    of_xs,
                    of_sources,
                    of_targets,
                });
            },
        );
        let total = |parts: Vec<T>| {
            let mut total = vec![T::ZERO; width];
            for part in parts.chunks_exact(width.max(1)) {
                add(&mut total, T::ONE, part);
            }
            total
        };
        Gradients {
            of_xs,
            of_sources: total(of_sources),
            of_targets: total(of_targets),
        }
    }
}

#[inline(always)]
fn add<T: Float>(sums: &mut [T], factor: T, row: &[T]) {
    for (sum, x) in sums.iter_mut().zip(row) {
        *sum += factor * *x;
    }
}

/// For each node and head the product of its row and the head's.
struct Scores<'a, T> {
    xs: &'a [T],
    of: &'a [T],
    size: usize,
    scores: &'a mut [T],
}

impl<T: Float> WithSimd for Scores<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let size = self.size.max(1);
        let of = self.of.chunks_exact(size).cycle();
        for ((xs, of), score) in self.xs.chunks_exact(size).zip(of).zip(self.scores) {
            *score = rows::sum_of_pairs(xs, of, |x, y| x * y);
        }
    }
}

/// Sets the weights of the edges of some nodes, and adds up their neighbours' rows.
struct Forward<'a, T> {
    layer: &'a Layer<'a, T>,
    first: usize,
    weights: &'a mut [T],
    sums: &'a mut [T],
}

impl<T: Float> WithSimd for Forward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let GraphAttention { graph, heads, size } = self.layer.op;
        let incoming = graph.incoming();
        let width = (heads * size).max(1);
        let mut rest = self.weights;
        for (node, sums) in (self.first..).zip(self.sums.chunks_exact_mut(width)) {
            let (weights, others) = rest.split_at_mut(incoming.degree(node) * heads);
            rest = others;
            self.layer.weigh(node, weights);
            let sources = &incoming.neighbours()[incoming.edges(node)];
            for (weights, source) in weights.chunks_exact(*heads).zip(sources) {
                for (head, sums) in sums.chunks_exact_mut(*size).enumerate() {
                    let row = self.layer.row(self.layer.xs, *source as usize, head);
                    add(sums, weights[head], row);
                }
            }
        }
    }
}

/// Sets the weights of the edges of some nodes, and the gradients of their scores.
struct EdgeGradients<'a, T> {
    layer: &'a Layer<'a, T>,
    first: usize,
    gradients: &'a [T],
    weights: &'a mut [T],
    of_scores: &'a mut [T],
    of_target_scores: &'a mut [T],
}

impl<T: Float> WithSimd for EdgeGradients<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let layer = self.layer;
        let heads = layer.op.heads;
        let incoming = layer.op.graph.incoming();
        let (mut weights_left, mut scores_left) = (self.weights, self.of_scores);
        for (node, of_target) in (self.first..).zip(self.of_target_scores.chunks_exact_mut(heads)) {
            let count = incoming.degree(node) * heads;
            let (weights, others) = weights_left.split_at_mut(count);
            weights_left = others;
            let (of_scores, others) = scores_left.split_at_mut(count);
            scores_left = others;
            layer.weigh(node, weights);
            let sources = &incoming.neighbours()[incoming.edges(node)];
            for (head, of_target) in of_target.iter_mut().enumerate() {
                let gradient = layer.row(self.gradients, node, head);
                let mut mean = T::ZERO;
                let edges = of_scores
                    .chunks_exact_mut(heads)
                    .zip(weights.chunks_exact(heads));
                for ((of_scores, weights), source) in edges.zip(sources) {
                    let row = layer.row(layer.xs, *source as usize, head);
                    of_scores[head] = rows::sum_of_pairs(row, gradient, |x, g| x * g);
                    mean += weights[head] * of_scores[head];
                }
                let edges = of_scores
                    .chunks_exact_mut(heads)
                    .zip(weights.chunks_exact(heads));
                for ((of_scores, weights), source) in edges.zip(sources) {
                    let mut of_score = weights[head] * (of_scores[head] - mean);
                    if layer.score(*source as usize, node, head) < T::ZERO {
                        of_score *= T::from_f64(SLOPE);
                    }
                    of_scores[head] = of_score;
                    *of_target += of_score;
                }
            }
        }
    }
}

/// Adds up the gradients of some nodes' rows, and of the heads' rows over these nodes.
struct NodeGradients<'a, T> {
    layer: &'a Layer<'a, T>,
    first: usize,
    gradients: &'a [T],
    weights: &'a [T],
    of_scores: &'a [T],
    of_target_scores: &'a [T],
    of_xs: &'a mut [T],
    of_sources: &'a mut [T],
    of_targets: &'a mut [T],
}

impl<T: Float> WithSimd for NodeGradients<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let layer = self.layer;
        let GraphAttention { graph, heads, size } = layer.op;
        let (heads, size) = (*heads, *size);
        let outgoing = graph.outgoing();
        for (node, of_xs) in (self.first..).zip(self.of_xs.chunks_exact_mut((heads * size).max(1)))
        {
            let edges = outgoing.edges(node);
            let edges = outgoing.numbers()[edges.clone()]
                .iter()
                .zip(&outgoing.neighbours()[edges]);
            for (head, of_x) in of_xs.chunks_exact_mut(size).enumerate() {
                let mut of_source_score = T::ZERO;
                for (edge, target) in edges.clone() {
                    let edge = *edge as usize * heads + head;
                    let gradient = layer.row(self.gradients, *target as usize, head);
                    add(of_x, self.weights[edge], gradient);
                    of_source_score += self.of_scores[edge];
                }
                let of_target_score = self.of_target_scores[node * heads + head];
                let row = layer.row(layer.xs, node, head);
                add(
                    of_x,
                    of_source_score,
                    &layer.of_sources[head * size..][..size],
                );
                add(
                    of_x,
                    of_target_score,
                    &layer.of_targets[head * size..][..size],
                );
                add(
                    &mut self.of_sources[head * size..][..size],
                    of_source_score,
                    row,
                );
                add(
                    &mut self.of_targets[head * size..][..size],
                    of_target_score,
                    row,
                );
            }
        }
    }
}
