//! The outputs of attention.

use pulp::{Simd, WithSimd};

use super::Visible;
use super::head::{BLOCK, Head, softmax};
use super::product::{Panels, add_product, padded};
use super::sizes::Sizes;
use crate::kernels::cpu::Cpu;
use crate::kernels::float::Float;
use crate::kernels::matrix::Matrix;
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
        if head.queries.rows <= FEW && hides {
            head.attend_few(ys, &mut buffers.weights);
            return;
        }
        let size = head.queries.columns;
        let stride = padded::<T, S>(size);
        buffers.keys.set::<S>(head.keys.transposed());
        buffers.values.set::<S>(head.values);
        for first in (0..head.queries.rows).step_by(BLOCK) {
            let block = first..(first + BLOCK).min(head.queries.rows);
            let Buffers {
                keys,
                values,
                weights,
                sums,
            } = &mut *buffers;
            let count = head.weigh(simd, &block, [hides, head.forgives()], keys, weights);
            let weights = Matrix {
                row_stride: padded::<T, S>(head.keys.rows),
                ..Matrix::new(weights, block.len(), count)
            };
            sums.clear();
            sums.resize(block.len() * stride, T::ZERO);
            add_product(simd, weights, values, size, sums, stride);
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
        for (query, ys) in ys.chunks_exact_mut(self.queries.columns).enumerate() {
            let row = self.queries.row(query, 0, self.queries.columns);
            weights.clear();
            weights.extend((0..self.visible(query)).map(|key| {
                rows::sum_of_pairs(row, self.keys.row(key, 0, row.len()), |x, y| x * y)
            }));
            softmax(weights, self.scale(), self.forgives());
            for (key, weight) in weights.iter().enumerate() {
                for (y, value) in ys.iter_mut().zip(self.values.row(key, 0, row.len())) {
                    *y += *weight * *value;
                }
            }
        }
    }
}
