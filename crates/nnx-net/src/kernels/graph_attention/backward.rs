//! The gradients of the rows, and of the vectors of each head.

use pulp::{Simd, WithSimd};

use super::GraphAttention;
use super::layer::{Layer, NODES, SLOPE, add};
use crate::kernels::float::Float;
use crate::kernels::rows;

impl<T: Float> Layer<'_, T> {
    /// The gradients of the operands by those of the sums.
    pub(super) fn gradients(&self, gradients: &[T]) -> [Vec<T>; 3] {
        let GraphAttention {
            graph, heads, size, ..
        } = self.op;
        let width = heads * size;
        let nodes = graph.incoming().nodes();
        let edges = graph.incoming().len() * heads;
        let (mut weights, mut of_scores) = (vec![T::ZERO; edges], vec![T::ZERO; edges]);
        let mut of_target_scores = vec![T::ZERO; nodes * heads];
        let tasks = self.tasks(&mut weights).zip(self.tasks(&mut of_scores));
        let tasks = tasks.zip(of_target_scores.chunks_mut((NODES * heads).max(1)));
        self.op.cpu.each(
            tasks,
            |(((first, weights), (_, of_scores)), of_target_scores)| {
                self.op.cpu.dispatch(EdgeGradients {
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
        self.op.cpu.each(
            tasks.enumerate(),
            |(task, ((of_sources, of_targets), of_xs))| {
                self.op.cpu.dispatch(NodeGradients {
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
        [of_xs, total(of_sources), total(of_targets)]
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
        let GraphAttention {
            graph, heads, size, ..
        } = layer.op;
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
