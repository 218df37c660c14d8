//! Attention of queries over keys and values.

mod product;

use std::ops::Range;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp1, CustomOp3, Layout, Result, Shape, Tensor};
use pulp::{Simd, WithSimd};

use self::product::{Left, Panels, Rows, add_product, padded};
use super::dispatch::dispatch;
use super::float::Float;
use super::operand::{for_floats, operand, output};
use super::softmax::exponentials;
use super::storage::contiguous;
use super::{rows, threads};

/// Which keys a query attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visible {
    /// All.
    All,
    /// Those that are not later than the query, where the last key has the position of the last query.
    Earlier,
}

/// Attention of tokens to themselves: queries, keys and values `[N, T, 3, heads, size]` give
/// `[N, T, heads · size]`, for each query the mean of the values, weighted by the softmax of its
/// products with the keys by the root of the size.
///
/// # Errors
/// When the shape is another, or candle fails.
pub(crate) fn attend_to_self(all: &Tensor, visible: Visible) -> Result<Tensor> {
    all.contiguous()?.apply_op1(SelfAttention { visible })
}

/// Attention of queries `[N, heads, T, size]` to keys and values `[N, heads, keys, size]`, whose
/// rows are contiguous, as for [`attend_to_self`]. It has no gradient.
///
/// # Errors
/// When a shape is another, or candle fails.
pub(crate) fn attend(
    queries: &Tensor,
    keys: &Tensor,
    values: &Tensor,
    visible: Visible,
) -> Result<Tensor> {
    let (count, heads, tokens, size) = queries.dims4()?;
    let expected = [count, heads, keys.dim(2)?, size];
    if keys.dims() != expected || values.dims() != expected || keys.dim(2)? < tokens {
        candle_core::bail!("expected keys and values that fit the queries");
    }
    queries.apply_op3_no_bwd(keys, values, &Attention { visible })
}

struct SelfAttention {
    visible: Visible,
}

struct Attention {
    visible: Visible,
}

/// The operands of one head.
#[derive(Clone, Copy, Debug)]
struct Head<'a, T> {
    queries: Rows<'a, T>,
    keys: Rows<'a, T>,
    values: Rows<'a, T>,
    tokens: usize,
    /// The number of keys.
    count: usize,
    visible: Visible,
}

/// The queries whose scores are held at once; a multiple of the rows that a product takes at once.
const BLOCK: usize = 48;

/// The queries up to which the products of rows are faster than a copy of keys and values in panels.
const FEW: usize = 3;

/// The sizes of queries, keys and values of the same tokens.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    count: usize,
    tokens: usize,
    heads: usize,
    size: usize,
}

impl Sizes {
    fn from_dims(dims: &[usize]) -> Result<Self> {
        match *dims {
            [count, tokens, 3, heads, size] => Ok(Self {
                count,
                tokens,
                heads,
                size,
            }),
            _ => candle_core::bail!("expected queries, keys and values, found `{dims:?}`"),
        }
    }

    /// The rows of a sample and head among those of `parts` for each token.
    fn rows<T>(self, elements: &[T], parts: usize, part: usize, head: usize) -> Rows<'_, T> {
        let (sample, head) = (head / self.heads, head % self.heads);
        Rows {
            elements,
            start: ((sample * self.tokens * parts + part) * self.heads + head) * self.size,
            stride: parts * self.heads * self.size,
            size: self.size,
        }
    }

    /// The operands of a head, counted over all samples.
    fn head<T>(self, all: &[T], visible: Visible, head: usize) -> Head<'_, T> {
        let [queries, keys, values] = [0, 1, 2].map(|part| self.rows(all, 3, part, head));
        Head {
            queries,
            keys,
            values,
            tokens: self.tokens,
            count: self.tokens,
            visible,
        }
    }

    /// From `[N, heads, parts, T, size]` to `[N, T, parts, heads, size]`.
    fn by_tokens<T: Float>(self, by_heads: &[T], parts: usize) -> Vec<T> {
        let Self {
            count,
            tokens,
            heads,
            size,
        } = self;
        let mut by_tokens = Vec::with_capacity(by_heads.len());
        for sample in 0..count {
            for token in 0..tokens {
                for part in 0..parts {
                    for head in 0..heads {
                        let row = ((sample * heads + head) * parts + part) * tokens + token;
                        by_tokens.extend_from_slice(&by_heads[row * size..][..size]);
                    }
                }
            }
        }
        by_tokens
    }
}

impl CustomOp1 for SelfAttention {
    fn name(&self) -> &'static str {
        "self-attention"
    }

    fn cpu_fwd(&self, all: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let sizes = Sizes::from_dims(layout.dims())?;
        for_floats!(all.dtype(), T => {
            let all = contiguous::<T>(all, layout)?;
            let ys = forward(sizes, sizes.tokens, |head| sizes.head(all, self.visible, head));
            Ok(output(ys, (sizes.count, sizes.tokens, sizes.heads * sizes.size)))
        })
    }

    fn bwd(&self, all: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let sizes = Sizes::from_dims(all.dims())?;
        let gradient = gradient.contiguous()?;
        for_floats!(all.dtype(), T => {
            let (x, g) = (operand(all), operand(&gradient));
            let (xs, gradients) = (x.elements::<T>()?, g.elements::<T>()?);
            let mut of_heads = vec![T::ZERO; xs.len()];
            let of_head = 3 * sizes.tokens * sizes.size;
            let part = rows::per_thread(sizes.count * sizes.heads, 4 * of_head * sizes.tokens);
            let tasks = of_heads.chunks_mut((part * of_head).max(1)).enumerate();
            threads::each(tasks, |(task, of_heads)| {
                for (head, of_head) in (task * part..).zip(of_heads.chunks_exact_mut(of_head)) {
                    dispatch(Backward {
                        head: sizes.head(xs, self.visible, head),
                        gradients: sizes.rows(gradients, 1, 0, head),
                        of_head,
                    });
                }
            });
            let of_all = sizes.by_tokens(&of_heads, 3);
            Ok(Some(Tensor::from_vec(of_all, all.shape(), all.device())?))
        })
    }
}

impl CustomOp3 for Attention {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn cpu_fwd(
        &self,
        queries: &CpuStorage,
        queries_layout: &Layout,
        keys: &CpuStorage,
        keys_layout: &Layout,
        values: &CpuStorage,
        values_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (count, heads, tokens, size) = queries_layout.shape().dims4()?;
        let sizes = Sizes {
            count,
            tokens,
            heads,
            size,
        };
        let keys_count = keys_layout.shape().dims4()?.2;
        for_floats!(queries.dtype(), T => {
            let layouts = [queries_layout, keys_layout, values_layout];
            if layouts.iter().any(|layout| layout.stride()[3] != 1) {
                candle_core::bail!("expected contiguous rows");
            }
            let elements = [queries, keys, values].map(CpuStorage::as_slice::<T>);
            let [queries, keys, values] = elements;
            let elements = [queries?, keys?, values?];
            let ys = forward(sizes, keys_count, |head| {
                let rows = |at: usize| {
                    let (layout, stride) = (layouts[at], layouts[at].stride());
                    let (sample, head) = (head / heads, head % heads);
                    Rows {
                        elements: elements[at],
                        start: layout.start_offset() + sample * stride[0] + head * stride[1],
                        stride: stride[2],
                        size,
                    }
                };
                Head {
                    queries: rows(0),
                    keys: rows(1),
                    values: rows(2),
                    tokens,
                    count: keys_count,
                    visible: self.visible,
                }
            });
            Ok(output(ys, (count, tokens, heads * size)))
        })
    }
}

/// The outputs `[N, T, heads · size]` of all heads.
fn forward<'a, T: Float>(
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
    let part = rows::per_thread(count * heads, 2 * tokens * size * keys);
    let tasks = ys.chunks_mut((part * tokens * size).max(1)).enumerate();
    threads::each(tasks, |(task, ys)| {
        let mut buffers = Buffers::default();
        for (at, ys) in (task * part..).zip(ys.chunks_exact_mut(tokens * size)) {
            dispatch(Forward {
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

impl<T: Float> Head<'_, T> {
    /// The number of keys that a query attends to.
    #[inline(always)]
    fn visible(&self, query: usize) -> usize {
        match self.visible {
            Visible::All => self.count,
            Visible::Earlier => self.count - self.tokens + query + 1,
        }
    }

    /// The number that scores are multiplied by.
    #[inline(always)]
    fn scale(&self) -> T {
        #[expect(clippy::cast_precision_loss, reason = "a head's size is small")]
        let size = T::from_f64(self.queries.size as f64);
        T::ONE / size.sqrt()
    }

    /// Whether the forward pass gives zeros for a query whose scores are all NaN, as PyTorch does where
    /// it adds no mask. Its backward pass gives NaN.
    #[inline(always)]
    fn forgives(&self) -> bool {
        self.visible == Visible::All
    }

    /// Whether hidden keys may be left out. They may not where PyTorch's additive mask does not hide
    /// them: a score that is NaN or infinite stays so, and zero times an infinite value is NaN.
    #[inline(always)]
    fn hides(&self) -> bool {
        let [queries, keys] = [(self.queries, self.tokens), (self.keys, self.count)]
            .map(|(rows, count)| squares(rows, count).sqrt());
        is_finite(queries * keys + squares(self.values, self.count))
    }

    /// Sets the weights of a block of queries, and returns the number of keys that have some.
    #[inline(always)]
    fn weigh<S: Simd>(
        &self,
        simd: S,
        block: &Range<usize>,
        [hides, forgives]: [bool; 2],
        keys: &Panels<T>,
        weights: &mut Vec<T>,
    ) -> usize {
        let stride = padded::<T, S>(self.count);
        weights.clear();
        weights.resize(block.len() * stride, T::ZERO);
        let count = if hides {
            self.visible(block.end - 1)
        } else {
            self.count
        };
        let queries = Left::Rows(self.queries.from(block.start));
        let sizes = [block.len(), self.queries.size, count];
        add_product(simd, queries, keys, sizes, weights, stride);
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
fn softmax<T: Float>(scores: &mut [T], scale: T, forgives: bool) {
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
fn squares<T: Float>(rows: Rows<'_, T>, count: usize) -> T {
    let mut sum = T::ZERO;
    for row in 0..count {
        sum += rows::fold(rows.get(row), T::ZERO, |x| x * x, |a, b| a + b);
    }
    sum
}

#[inline(always)]
fn is_finite<T: Float>(x: T) -> bool {
    x.to_f64().is_finite()
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
