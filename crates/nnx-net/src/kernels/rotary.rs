//! Rotary position embeddings.

use std::sync::Arc;

use candle_core::{D, Result, Shape, Tensor};
use candle_nn::rotary_emb::rope_i_slow;
use pulp::{Simd, WithSimd};

use super::cpu::Cpu;
use super::float::Float;
use super::operation::{Kernel, Operation, is_for};
use super::view::View;

/// Cosine and sine of the angle of each pair of elements, for consecutive positions.
#[derive(Clone, Debug)]
pub(crate) struct Angles {
    /// `[cos, sin]`, for each position those of all pairs.
    pairs: Arc<[[f32; 2]]>,
}

impl Angles {
    /// The angles of all pairs of the first position, then of the next, and so on.
    pub(crate) fn new(angles: impl IntoIterator<Item = f32>) -> Self {
        Self {
            pairs: angles
                .into_iter()
                .map(|angle| [angle.cos(), angle.sin()])
                .collect(),
        }
    }

    /// The cosines, then the sines, in the order of the angles.
    pub(crate) fn tables(&self) -> [Vec<f32>; 2] {
        [0, 1].map(|part| self.pairs.iter().map(|pair| pair[part]).collect())
    }

    /// Angles in the other direction.
    fn reversed(&self) -> Self {
        Self {
            pairs: self.pairs.iter().map(|[cos, sin]| [*cos, -sin]).collect(),
        }
    }
}

/// Rotates the pairs of adjacent elements of queries and keys, the first two of the three parts of
/// `[N, T, 3, heads, size]`; the angles are those of `T` positions.
///
/// # Errors
/// When the shape or the number of angles is another, or candle fails.
pub(crate) fn rotate(cpu: Cpu, all: &Tensor, angles: &Angles) -> Result<Tensor> {
    if is_for(&[all]) {
        let angles = angles.clone();
        return all
            .contiguous()?
            .apply_op1(Operation(Rotary { cpu, angles }));
    }
    let (tokens, half) = (all.dim(1)?, all.dim(D::Minus1)? / 2);
    let [cos, sin] = angles
        .tables()
        .map(|table| Tensor::from_vec(table, (tokens, half), all.device())?.to_dtype(all.dtype()));
    let (cos, sin) = (cos?, sin?);
    let part = |at| all.narrow(2, at, 1)?.squeeze(2)?.transpose(1, 2);
    let rotated = |at| {
        let rotated = rope_i_slow(&part(at)?.contiguous()?, &cos, &sin)?;
        rotated.transpose(1, 2)?.unsqueeze(2)
    };
    Tensor::cat(&[rotated(0)?, rotated(1)?, all.narrow(2, 2, 1)?], 2)
}

struct Rotary {
    cpu: Cpu,
    angles: Angles,
}

impl Kernel<1> for Rotary {
    const NAME: &'static str = "rotary";

    fn forward<T: Float>(&self, [all]: [View<'_>; 1]) -> Result<(Vec<T>, Shape)> {
        let rotated = self.rotated(all.elements::<T>()?, &self.angles, all.dims())?;
        Ok((rotated, all.layout.shape().clone()))
    }

    fn backward<T: Float>(
        &self,
        [all]: [View<'_>; 1],
        _: [bool; 1],
        _: &[T],
        gradient: &[T],
    ) -> Result<[Option<Vec<T>>; 1]> {
        let back = self.angles.reversed();
        Ok([Some(self.rotated(gradient, &back, all.dims())?)])
    }
}

impl Rotary {
    fn rotated<T: Float>(&self, all: &[T], angles: &Angles, dims: &[usize]) -> Result<Vec<T>> {
        let pairs = &angles.pairs;
        let &[_, tokens, 3, heads, size] = dims else {
            candle_core::bail!("expected queries, keys and values of tokens, found `{dims:?}`");
        };
        if size % 2 != 0 || pairs.len() != tokens * (size / 2) {
            candle_core::bail!("expected angles for `{tokens}` positions of size `{size}`");
        }
        let mut all = all.to_vec();
        let width = 3 * heads * size;
        if all.is_empty() {
            return Ok(all);
        }
        let part = self.cpu.rows_per_thread(all.len() / width, 2 * width);
        self.cpu
            .each(all.chunks_mut(part * width).enumerate(), |(task, rows)| {
                let first = task * part;
                self.cpu.dispatch(Rotate {
                    rows,
                    first,
                    pairs,
                    tokens,
                    heads,
                    size,
                });
            });
        Ok(all)
    }
}

/// Rotates the queries and keys of the tokens from `first` on.
struct Rotate<'a, T> {
    rows: &'a mut [T],
    first: usize,
    pairs: &'a [[f32; 2]],
    tokens: usize,
    heads: usize,
    size: usize,
}

impl<T: Float> WithSimd for Rotate<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let half = self.size / 2;
        for (token, row) in
            (self.first..).zip(self.rows.chunks_exact_mut(3 * self.heads * self.size))
        {
            let angles = &self.pairs[token % self.tokens * half..][..half];
            for head in row.chunks_exact_mut(self.size).take(2 * self.heads) {
                for ([x, y], [cos, sin]) in head.as_chunks_mut::<2>().0.iter_mut().zip(angles) {
                    let [cos, sin] = [cos, sin].map(|part| T::from_f64(f64::from(*part)));
                    (*x, *y) = (*x * cos - *y * sin, *x * sin + *y * cos);
                }
            }
        }
    }
}
