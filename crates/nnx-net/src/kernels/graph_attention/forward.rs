//! The sums of the rows of neighbours.

use pulp::{Simd, WithSimd};

use super::GraphAttention;
use super::layer::{Layer, add};
use crate::kernels::float::Float;

impl<T: Float> Layer<'_, T> {
    /// The weighted sums of all nodes `[N, heads, size]`.
    pub(super) fn sums(&self) -> Vec<T> {
        let mut sums = vec![T::ZERO; self.xs.len()];
        let mut weights = vec![T::ZERO; self.op.graph.incoming().len() * self.op.heads];
        let tasks = self.tasks(&mut weights);
        let tasks = tasks.zip(sums.chunks_mut(self.rows_of_task()));
        self.op.cpu.each(tasks, |((first, weights), sums)| {
            self.op.cpu.dispatch(Forward {
                layer: self,
                first,
                weights,
                sums,
            });
        });
        sums
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
        let GraphAttention {
            graph, heads, size, ..
        } = self.layer.op;
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
