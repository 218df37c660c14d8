//! Rotary position embeddings.

use candle_core::{Device, Tensor};

use crate::error::Result;
use crate::mode::Mode;

/// Rotates each pair of adjacent elements by an angle that grows with the position: pair `k` at
/// position `t` by `t · base^(-2k / size)`.
#[derive(Clone, Debug)]
pub(super) struct Rope {
    /// The angle of each pair at position 1.
    frequencies: Vec<f32>,
}

/// Cosines and sines of consecutive positions, each `[T, size / 2]`.
#[derive(Debug)]
pub(super) struct Rotation {
    cos: Tensor,
    sin: Tensor,
}

impl Rope {
    /// The rotations of heads with that size, computed in float32 as in NNx.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "PyTorch computes the tables in float32"
    )]
    pub(super) fn new(size: usize, base: f64) -> Self {
        let frequency = |pair: usize| {
            let exponent = (2 * pair) as f32 / size as f32;
            1.0 / f64::from(base as f32).powf(f64::from(exponent)) as f32
        };
        Self {
            frequencies: (0..size / 2).map(frequency).collect(),
        }
    }

    /// The rotation of `count` positions from `first` on.
    ///
    /// # Errors
    /// When candle fails.
    pub(super) fn at(&self, first: usize, count: usize, device: &Device) -> Result<Rotation> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "PyTorch holds the positions in float32"
        )]
        let angles = || {
            (first..first + count)
                .flat_map(|position| self.frequencies.iter().map(move |f| position as f32 * f))
        };
        let shape = (count, self.frequencies.len());
        Ok(Rotation {
            cos: Tensor::from_iter(angles().map(f32::cos), device)?.reshape(shape)?,
            sin: Tensor::from_iter(angles().map(f32::sin), device)?.reshape(shape)?,
        })
    }
}

impl Rotation {
    /// Rotates `[N, heads, T, size]`.
    ///
    /// # Errors
    /// When candle fails.
    pub(super) fn apply(&self, xs: &Tensor, mode: &Mode<'_>) -> Result<Tensor> {
        Ok(if mode.is_training() {
            candle_nn::rotary_emb::rope_i_slow(xs, &self.cos, &self.sin)?
        } else {
            // One pass, which has no gradient.
            candle_nn::rotary_emb::rope_i(xs, &self.cos, &self.sin)?
        })
    }
}
