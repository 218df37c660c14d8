//! The gradients of attention.

use pulp::{Simd, WithSimd};

use super::Visible;
use super::head::{BLOCK, Head, is_finite, squares};
use super::product::{Panels, add_product, padded};
use super::sizes::Sizes;
use crate::kernels::cpu::Cpu;
use crate::kernels::float::Float;
use crate::kernels::matrix::Matrix;
use crate::kernels::rows;

/// The gradients `[N, T, 3, heads, size]` of queries, keys and values, by those of the outputs.
pub(super) fn gradients<T: Float>(
    cpu: Cpu,
    sizes: Sizes,
    all: &[T],
    visible: Visible,
    gradients: &[T],
) -> Vec<T> {
    let mut of_heads = vec![T::ZERO; all.len()];
    let of_head = 3 * sizes.tokens * sizes.size;
    let part = cpu.rows_per_thread(sizes.count * sizes.heads, 4 * of_head * sizes.tokens);
    let tasks = of_heads.chunks_mut((part * of_head).max(1)).enumerate();
    cpu.each(tasks, |(task, of_heads)| {
        for (head, of_head) in (task * part..).zip(of_heads.chunks_exact_mut(of_head)) {
            cpu.dispatch(Backward {
                head: sizes.head(all, visible, head),
                gradients: sizes.rows(gradients, 1, 0, head),
                of_head,
            });
        }
    });
    sizes.by_tokens(&of_heads, 3)
}

/// Computes the gradients of the queries, keys and values `[3, T, size]` of a head.
struct Backward<'a, 'b, T> {
    head: Head<'a, T>,
    /// Those of the outputs.
    gradients: Matrix<'a, T>,
    of_head: &'b mut [T],
}

impl<T: Float> WithSimd for Backward<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            head,
            gradients,
            of_head,
        } = self;
        let (size, scale) = (head.queries.columns, head.scale());
        let [wide, stride] = [padded::<T, S>(head.keys.rows), padded::<T, S>(size)];
        let hides = head.visible == Visible::All || head.hides() && is_finite(squares(gradients));
        let [mut keys, mut key_rows, mut values, mut right] = [(); 4].map(|()| Panels::default());
        keys.set::<S>(head.keys.transposed());
        key_rows.set::<S>(head.keys);
        values.set::<S>(head.values.transposed());
        let [mut of_queries, mut of_keys, mut of_values] =
            [(); 3].map(|()| vec![T::ZERO; head.keys.rows * stride]);
        let (mut weights, mut of_scores) = (Vec::new(), Vec::new());
        for first in (0..head.queries.rows).step_by(BLOCK) {
            let block = first..(first + BLOCK).min(head.queries.rows);
            let count = head.weigh(simd, &block, [hides, false], &keys, &mut weights);
            of_scores.clear();
            of_scores.resize(block.len() * wide, T::ZERO);
            let gradients = gradients.block(block.clone());
            add_product(simd, gradients, &values, count, &mut of_scores, wide);
            for (weights, row) in weights
                .chunks_exact(wide)
                .zip(of_scores.chunks_exact_mut(wide))
            {
                let (weights, row) = (&weights[..count], &mut row[..count]);
                let mean = rows::sum_of_pairs(weights, row, |y, g| y * g);
                for (g, weight) in row.iter_mut().zip(weights) {
                    *g = *weight * (*g - mean) * scale;
                }
            }
            let [weights, of_scores] = [&weights, &of_scores].map(|elements| Matrix {
                row_stride: wide,
                ..Matrix::new(elements, block.len(), count)
            });
            let sums = &mut of_queries[first * stride..];
            add_product(simd, of_scores, &key_rows, size, sums, stride);
            let (weights, of_scores) = (weights.transposed(), of_scores.transposed());
            right.set::<S>(gradients);
            add_product(simd, weights, &right, size, &mut of_values, stride);
            right.set::<S>(head.queries.block(block));
            add_product(simd, of_scores, &right, size, &mut of_keys, stride);
        }
        let rows = [of_queries, of_keys, of_values];
        let rows = rows
            .iter()
            .flat_map(|part| part.chunks_exact(stride).take(head.queries.rows));
        for (of_row, row) in of_head.chunks_exact_mut(size).zip(rows) {
            of_row.copy_from_slice(&row[..size]);
        }
    }
}
