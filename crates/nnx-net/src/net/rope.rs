//! Rotary position embeddings.

use crate::kernels::rotary::Angles;

/// Rotates each pair of adjacent elements by an angle that grows with the position: pair `k` at
/// position `t` by `t · base^(-2k / size)`.
#[derive(Clone, Debug)]
pub(super) struct Rope {
    /// The angle of each pair at position 1.
    frequencies: Vec<f32>,
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

    /// The angles of `count` positions from `first` on.
    pub(super) fn angles(&self, first: usize, count: usize) -> Angles {
        #[expect(
            clippy::cast_precision_loss,
            reason = "PyTorch holds the positions in float32"
        )]
        let angles = (first..first + count)
            .flat_map(|position| self.frequencies.iter().map(move |f| position as f32 * f));
        Angles::new(angles)
    }
}
