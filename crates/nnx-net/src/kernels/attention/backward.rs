//! The gradients of attention.

use pulp::{Simd, WithSimd};

use super::Visible;
use super::head::{BLOCK, Head, is_finite, squares};
use super::product::{Left, Panels, Rows, add_product, padded};
use super::sizes::Sizes;
use crate::kernels::cpu::Cpu;
use crate::kernels::float::Float;
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
    gradients: Rows<'a, T>,
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
        let (size, scale) = (head.queries.size, head.scale());
        let [wide, stride] = [padded::<T, S>(head.count), padded::<T, S>(size)];
        let hides = head.visible == Visible::All
            || head.hides() && is_finite(squares(gradients, head.tokens));
        let [mut keys, mut key_rows, mut values, mut right] = [(); 4].map(|()| Panels::default());
        keys.set_transposed::<S>(head.keys, head.count);
        key_rows.set_rows::<S>(head.keys, head.count);
        values.set_transposed::<S>(head.values, head.count);
        let [mut of_queries, mut of_keys, mut of_values] =
            [(); 3].map(|()| vec![T::ZERO; head.count * stride]);
        let (mut weights, mut of_scores) = (Vec::new(), Vec::new());
        for first in (0..head.tokens).step_by(BLOCK) {
            let block = first..(first + BLOCK).min(head.tokens);
            let count = head.weigh(simd, &block, [hides, false], &keys, &mut weights);
            of_scores.clear();
            of_scores.resize(block.len() * wide, T::ZERO);
            let gradients = gradients.from(first);
            let sizes = [block.len(), size, count];
            add_product(
                simd,
                Left::Rows(gradients),
                &values,
                sizes,
                &mut of_scores,
                wide,
            );
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
            let rows = |elements| Rows {
                elements,
                start: 0,
                stride: wide,
                size: count,
            };
            let (weights, of_scores) = (rows(&*weights), rows(&*of_scores));
            let sums = &mut of_queries[first * stride..];
            let sizes = [block.len(), count, size];
            add_product(simd, Left::Rows(of_scores), &key_rows, sizes, sums, stride);
            let sizes = [count, block.len(), size];
            right.set_rows::<S>(gradients, block.len());
            add_product(
                simd,
                Left::Transposed(weights),
                &right,
                sizes,
                &mut of_values,
                stride,
            );
            right.set_rows::<S>(head.queries.from(first), block.len());
            add_product(
                simd,
                Left::Transposed(of_scores),
                &right,
                sizes,
                &mut of_keys,
                stride,
            );
        }
        let rows = [of_queries, of_keys, of_values];
        let rows = rows
            .iter()
            .flat_map(|part| part.chunks_exact(stride).take(head.tokens));
        for (of_row, row) in of_head.chunks_exact_mut(size).zip(rows) {
            of_row.copy_from_slice(&row[..size]);
        }
    }
}
