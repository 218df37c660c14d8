//! The sizes of tensors with several heads, and where the rows of a head are.

use candle_core::Result;

use super::Visible;
use super::head::Head;
use crate::kernels::float::Float;
use crate::kernels::matrix::Matrix;

/// The sizes of queries, keys and values of the same tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) count: usize,
    pub(super) tokens: usize,
    pub(super) heads: usize,
    pub(super) size: usize,
}

impl Sizes {
    pub(super) fn from_dims(dims: &[usize]) -> Result<Self> {
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
    pub(super) fn rows<T>(
        self,
        elements: &[T],
        parts: usize,
        part: usize,
        head: usize,
    ) -> Matrix<'_, T> {
        let (sample, head) = (head / self.heads, head % self.heads);
        let start = ((sample * self.tokens * parts + part) * self.heads + head) * self.size;
        Matrix {
            data: elements.get(start..).unwrap_or_default(),
            rows: self.tokens,
            columns: self.size,
            row_stride: parts * self.heads * self.size,
            column_stride: 1,
        }
    }

    /// The operands of a head, counted over all samples.
    pub(super) fn head<T>(self, all: &[T], visible: Visible, head: usize) -> Head<'_, T> {
        let [queries, keys, values] = [0, 1, 2].map(|part| self.rows(all, 3, part, head));
        Head {
            queries,
            keys,
            values,
            visible,
        }
    }

    /// From `[N, heads, parts, T, size]` to `[N, T, parts, heads, size]`.
    pub(super) fn by_tokens<T: Float>(self, by_heads: &[T], parts: usize) -> Vec<T> {
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
