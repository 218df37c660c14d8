//! The initial values of parameters.

use crate::error::{Error, Result};
use crate::rng::Generator;

/// How a parameter is initialised.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Init {
    /// `kaiming_uniform_` with `a = sqrt(5)`: the weights of linear and convolution layers.
    KaimingUniform {
        /// Inputs that one output sums over.
        fan_in: usize,
    },
    /// Uniform within `1 / sqrt(fan_in)`: the biases of these layers.
    FanInUniform {
        /// Inputs that one output sums over.
        fan_in: usize,
    },
    /// PyG's `kaiming_uniform`, which rounds at other steps than PyTorch's.
    GraphKaimingUniform {
        /// Inputs that one output sums over.
        fan_in: usize,
    },
    /// PyG's `glorot`: uniform within `sqrt(6 / fans)`.
    Glorot {
        /// The sum of the last two sizes.
        fans: usize,
    },
    /// `normal_` with mean zero.
    Normal {
        /// The standard deviation.
        std: f64,
    },
    /// The same value everywhere; nothing is drawn.
    Constant(f32),
}

impl Init {
    /// The values of a parameter in row-major order.
    ///
    /// # Errors
    /// When there is no memory for them.
    pub(crate) fn draw(self, shape: &[usize], generator: &mut Generator) -> Result<Vec<f32>> {
        let count = shape
            .iter()
            .try_fold(1_usize, |count, size| count.checked_mul(*size))
            .ok_or_else(|| Error::unsupported(format!("the sizes of `{shape:?}` overflow")))?;
        match self {
            Self::Normal { std } => generator.normal_vec(count, std),
            Self::Constant(value) => {
                let mut values = Vec::new();
                values.try_reserve_exact(count).map_err(|_| {
                    Error::unsupported(format!("there is no memory for `{count}` numbers"))
                })?;
                values.resize(count, value);
                Ok(values)
            }
            _ => {
                let bound = self.bound();
                generator.uniform_vec(count, -bound, bound)
            }
        }
    }

    /// The largest value drawn, computed in float64 with the same steps as PyTorch or PyG, then
    /// rounded.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "PyTorch rounds at these steps too"
    )]
    fn bound(self) -> f32 {
        let slope = 1.0 + 5.0_f64.sqrt().powi(2);
        let bound = match self {
            Self::KaimingUniform { fan_in } => {
                let gain = (2.0 / slope).sqrt();
                3.0_f64.sqrt() * (gain / (fan_in as f64).sqrt())
            }
            Self::FanInUniform { fan_in } => 1.0 / (fan_in as f64).sqrt(),
            Self::GraphKaimingUniform { fan_in } => (6.0 / (slope * fan_in as f64)).sqrt(),
            Self::Glorot { fans } => (6.0 / fans as f64).sqrt(),
            Self::Normal { .. } | Self::Constant(_) => 0.0,
        };
        bound as f32
    }
}
