//! The operands of the layer, and the weights of a node's edges.

use candle_core::Result;
use pulp::{Simd, WithSimd};

use super::GraphAttention;
use crate::kernels::float::Float;
use crate::kernels::rows;
use crate::kernels::view::View;

/// The slope below zero of PyG's `GATConv`.
pub(super) const SLOPE: f64 = 0.2;

/// What PyG's softmax adds to its denominators.
pub(super) const FLOOR: f64 = 1e-16;

/// The nodes of one task; sums over all nodes are added up in tasks first, whose size does not depend
/// on the number of threads.
pub(super) const NODES: usize = 256;

/// The operands of the layer, and the scores of each node as a source and as a target `[N, heads]`.
pub(super) struct Layer<'a, T> {
    pub(super) op: &'a GraphAttention,
    pub(super) xs: &'a [T],
    pub(super) of_sources: &'a [T],
    pub(super) of_targets: &'a [T],
    source_scores: Vec<T>,
    target_scores: Vec<T>,
}

impl<'a, T: Float> Layer<'a, T> {
    /// # Errors
    /// When an operand is not contiguous, or its elements have another type.
    pub(super) fn new(op: &'a GraphAttention, operands: [View<'a>; 3]) -> Result<Self> {
        let [xs, of_sources, of_targets] = operands.map(View::elements::<T>);
        let (xs, of_sources, of_targets) = (xs?, of_sources?, of_targets?);
        let scores = |of: &[T]| {
            let mut scores = vec![T::ZERO; xs.len() / op.size.max(1)];
            let part = NODES * op.heads.max(1);
            let tasks = xs
                .chunks((part * op.size).max(1))
                .zip(scores.chunks_mut(part));
            op.cpu.each(tasks, |(xs, scores)| {
                op.cpu.dispatch(Scores {
                    xs,
                    of,
                    size: op.size,
                    scores,
                });
            });
            scores
        };
        Ok(Self {
            op,
            xs,
            of_sources,
            of_targets,
            source_scores: scores(of_sources),
            target_scores: scores(of_targets),
        })
    }

    /// The elements of the rows of a task.
    pub(super) fn rows_of_task(&self) -> usize {
        (NODES * self.op.heads * self.op.size).max(1)
    }

    /// The first node of each task, and the part of numbers `[edges, heads]` that belongs to its edges.
    pub(super) fn tasks<'b>(
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
    pub(super) fn row<'b>(&self, rows: &'b [T], node: usize, head: usize) -> &'b [T] {
        let start = (node * self.op.heads + head) * self.op.size;
        &rows[start..start + self.op.size]
    }

    /// The score of an edge before `leaky_relu`.
    #[inline(always)]
    pub(super) fn score(&self, source: usize, target: usize, head: usize) -> T {
        let heads = self.op.heads;
        self.source_scores[source * heads + head] + self.target_scores[target * heads + head]
    }

    /// Sets the weights of a node's edges `[edges, heads]`.
    #[inline(always)]
    pub(super) fn weigh(&self, node: usize, weights: &mut [T]) {
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
}

#[inline(always)]
pub(super) fn add<T: Float>(sums: &mut [T], factor: T, row: &[T]) {
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
