//! The outputs of attention.

use pulp::{Simd, WithSimd};

use super::Visible;
use super::head::{BLOCK, Head, softmax};
use super::product::{Left, Panels, Rows, add_product, padded};
use super::sizes::Sizes;
use crate::kernels::cpu::Cpu;
use crate::kernels::float::Float;
use crate::kernels::rows;

/// The queries up to which the products of rows are faster than a copy of keys and values in panels.
const FEW: usize = 3;

/// The outputs `[N, T, heads · size]` of all heads.
pub(super) fn outputs<'a, T: Float>(
    cpu: Cpu,
    sizes: Sizes,
    keys: usize,
    head: impl Fn(usize) -> Head<'a, T> + Sync,
) -> Vec<T> {
    let Sizes {
        count,
        tokens,
        heads,
        size,
    } = sizes;
    let mut ys = vec![T::ZERO; count * heads * tokens * size];
    let part = cpu.rows_per_thread(count * heads, 2 * tokens * size * keys);
    let tasks = ys.chunks_mut((part * tokens * size).max(1)).enumerate();
    cpu.each(tasks, |(task, ys)| {
        let mut buffers = Buffers::default();
        for (at, ys) in (task * part..).zip(ys.chunks_exact_mut(tokens * size)) {
            cpu.dispatch(Forward {
                head: head(at),
                ys,
                buffers: &mut buffers,
            });
        }
    });
    sizes.by_tokens(&ys, 1)
}

/// What the products of one head need, kept for the next head.
#[derive(Default)]
struct Buffers<T> {
    keys: Panels<T>,
    values: Panels<T>,
    /// The weights of a block of queries for all keys.
    weights: Vec<T>,
    sums: Vec<T>,
}

/// Computes the outputs `[T, size]` of a head.
struct Forward<'a, 'b, T> {
    head: Head<'a, T>,
    ys: &'b mut [T],
    buffers: &'b mut Buffers<T>,
}

impl<T: Float> WithSimd for Forward<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { head, ys, buffers } = self;
        let hides = head.visible == Visible::All || head.hides();
        if head.tokens <= FEW && hides {
            head.attend_few(ys, &mut buffers.weights);
            return;
        }
        let size = head.queries.size;
        let stride = padded::<T, S>(size);
        buffers.keys.set_transposed::<S>(head.keys, head.count);
        buffers.values.set_rows::<S>(head.values, head.count);
        for first in (0..head.tokens).step_by(BLOCK) {
            let block = first..(first + BLOCK).min(head.tokens);
            let Buffers {
                keys,
                values,
                weights,
                sums,
            } = &mut *buffers;
            let count = head.weigh(simd, &block, [hides, head.forgives()], keys, weights);
            let weights = Left::Rows(Rows {
                elements: weights,
                start: 0,
                stride: padded::<T, S>(head.count),
                size: count,
            });
            sums.clear();
            sums.resize(block.len() * stride, T::ZERO);
            add_product(
                simd,
                weights,
                values,
                [block.len(), count, size],
                sums,
                stride,
            );
            let ys = ys[first * size..].chunks_exact_mut(size);
            for (y, sums) in ys.zip(sums.chunks_exact(stride)) {
                y.copy_from_slice(&sums[..size]);
            }
        }
    }
}

impl<T: Float> Head<'_, T> {
    /// The outputs of a few queries.
    #[inline(always)]
    fn attend_few(&self, ys: &mut [T], weights: &mut Vec<T>) {
        for (query, ys) in ys.chunks_exact_mut(self.queries.size).enumerate() {
            let row = self.queries.get(query);
            weights.clear();
            weights.extend(
                (0..self.visible(query))
                    .map(|key| rows::sum_of_pairs(row, self.keys.get(key), |x, y| x * y)),
            );
            softmax(weights, self.scale(), self.forgives());
            for (key, weight) in weights.iter().enumerate() {
                for (y, value) in ys.iter_mut().zip(self.values.get(key)) {
                    *y += *weight * *value;
                }
            }
        }
    }
}
