//! The operands of one head, and the weights of its keys.

use std::ops::Range;

use pulp::Simd;

use super::Visible;
use super::product::{Panels, add_product, padded};
use crate::kernels::float::Float;
use crate::kernels::matrix::Matrix;
use crate::kernels::rows;
use crate::kernels::softmax::exponentials;

/// The operands of one head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'a, T> {
    /// A row for each token.
    pub(super) queries: Matrix<'a, T>,
    /// A row for each key.
    pub(super) keys: Matrix<'a, T>,
    pub(super) values: Matrix<'a, T>,
    pub(super) visible: Visible,
}

/// The queries whose scores are held at once; a multiple of the rows that a product takes at once.
pub(super) const BLOCK: usize = 48;

impl<T: Float> Head<'_, T> {
    /// The number of keys that a query attends to.
    #[inline(always)]
    pub(super) fn visible(&self, query: usize) -> usize {
        match self.visible {
            Visible::All => self.keys.rows,
            Visible::Earlier => self.keys.rows - self.queries.rows + query + 1,
        }
    }

    /// The number that scores are multiplied by.
    #[inline(always)]
    pub(super) fn scale(&self) -> T {
        #[expect(clippy::cast_precision_loss, reason = "a head's size is small")]
        let size = T::from_f64(self.queries.columns as f64);
        T::ONE / size.sqrt()
    }

    /// Whether the forward pass gives zeros for a query whose scores are all NaN, as PyTorch does where
    /// it adds no mask. Its backward pass gives NaN.
    #[inline(always)]
    pub(super) fn forgives(&self) -> bool {
        self.visible == Visible::All
    }

    /// Whether hidden keys may be left out. They may not where PyTorch's additive mask does not hide
    /// them: a score that is NaN or infinite stays so, and zero times an infinite value is NaN.
    #[inline(always)]
    pub(super) fn hides(&self) -> bool {
        let [queries, keys] = [self.queries, self.keys].map(|rows| squares(rows).sqrt());
        is_finite(queries * keys + squares(self.values))
    }

    /// Sets the weights of a block of queries, and returns the number of keys that have some.
    #[inline(always)]
    pub(super) fn weigh<S: Simd>(
        &self,
        simd: S,
        block: &Range<usize>,
        [hides, forgives]: [bool; 2],
        keys: &Panels<T>,
        weights: &mut Vec<T>,
    ) -> usize {
        let stride = padded::<T, S>(self.keys.rows);
        weights.clear();
        weights.resize(block.len() * stride, T::ZERO);
        let count = if hides {
            self.visible(block.end - 1)
        } else {
            self.keys.rows
        };
        let queries = self.queries.block(block.clone());
        add_product(simd, queries, keys, count, weights, stride);
        for (query, row) in block.clone().zip(weights.chunks_exact_mut(stride)) {
            let visible = self.visible(query);
            if !hides {
                for score in &mut row[visible..count] {
                    *score += T::NEG_INFINITY;
                }
            }
            let (row, hidden) = row.split_at_mut(if hides { visible } else { count });
            hidden.fill(T::ZERO);
            let scale = self.scale();
            softmax(row, scale, forgives);
        }
        count
    }
}

/// Replaces scores by the softmax of their products with a number. Scores none of which is a number
/// become zero if `forgives`, otherwise NaN.
#[inline(always)]
pub(super) fn softmax<T: Float>(scores: &mut [T], scale: T, forgives: bool) {
    for score in &mut *scores {
        *score *= scale;
    }
    let largest = rows::largest(scores);
    if forgives && largest == T::NEG_INFINITY {
        scores.fill(T::ZERO);
        return;
    }
    let sum = exponentials(scores, largest);
    for score in scores {
        *score /= sum;
    }
}

/// The sum of the squares of all elements.
#[inline(always)]
pub(super) fn squares<T: Float>(matrix: Matrix<'_, T>) -> T {
    let mut sum = T::ZERO;
    for row in 0..matrix.rows {
        let row = matrix.row(row, 0, matrix.columns);
        sum += rows::fold(row, T::ZERO, |x| x * x, |a, b| a + b);
    }
    sum
}

#[inline(always)]
pub(super) fn is_finite<T: Float>(x: T) -> bool {
    x.to_f64().is_finite()
}
