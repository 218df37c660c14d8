//! The fully connected layer, and what a recipe makes of it.

use candle_core::{Tensor, Var};

use crate::dropout::dropout;
use crate::error::{Error, Result};
use crate::net::Mode;
use crate::parameters::{Builder, Init};
use crate::recipe::Change;

/// A layer that maps `inputs` numbers a row to `outputs`.
#[derive(Clone, Debug)]
pub(crate) enum Linear {
    /// `y = x · Wᵀ + b`, PyTorch's `nn.Linear`.
    Full(Affine),
    /// `y = x · Wᵀ + b + (alpha / rank) · (x · Aᵀ) · Bᵀ`, NNx's `LoRALinear`.
    Lora(Lora),
    /// `y = (x · W₀ᵀ) · W₁ᵀ + b`, the factors that NNx's `low_rank_factorize` leaves.
    LowRank {
        /// `W₀ [rank, inputs]`.
        down: Var,
        /// `W₁ [outputs, rank]` and `b`.
        up: Affine,
    },
}

/// A weight `[outputs, inputs]` and a bias `[outputs]`.
#[derive(Clone, Debug)]
pub(crate) struct Affine {
    weight: Var,
    bias: Var,
}

/// A full layer with a product of two thin matrices beside it.
#[derive(Clone, Debug)]
pub(crate) struct Lora {
    /// `A [rank, inputs]`.
    a: Var,
    /// `B [outputs, rank]`.
    b: Var,
    base: Affine,
    scaling: f64,
    dropout: f64,
}

impl Linear {
    /// The layer at that path. Its parameters are `{path}.weight` and `{path}.bias`, unless the
    /// builder's recipe makes another layer of it.
    ///
    /// # Errors
    /// When a parameter cannot be made, or a rank is larger than the layer.
    pub(crate) fn new(
        path: &str,
        inputs: usize,
        outputs: usize,
        builder: &mut Builder<'_>,
    ) -> Result<Self> {
        builder.module(path);
        match builder.change(path) {
            None => Affine::new(path, inputs, outputs, builder).map(Self::Full),
            Some(Change::Lora {
                rank,
                alpha,
                dropout,
            }) => {
                // The order of the state dict: a module's own parameters come before its children.
                let a = weight(format!("{path}.lora_A"), inputs, rank, builder)?;
                let b = weight(format!("{path}.lora_B"), rank, outputs, builder)?;
                let base = format!("{path}.base");
                builder.module(&base);
                let base = Affine::new(&base, inputs, outputs, builder)?;
                builder.module(format!("{path}.lora_dropout"));
                Ok(Self::Lora(Lora {
                    a,
                    b,
                    base,
                    scaling: scaling(alpha, rank),
                    dropout,
                }))
            }
            Some(Change::LowRank { rank }) => {
                if rank > inputs.min(outputs) {
                    return Err(Error::configuration(format!(
                        "transform `low_rank`: the rank `{rank}` of `{path}` exceeds the layer's \
                         `{inputs}` inputs or `{outputs}` outputs"
                    )));
                }
                builder.module(format!("{path}.0"));
                let down = weight(format!("{path}.0.weight"), inputs, rank, builder)?;
                let up = format!("{path}.1");
                builder.module(&up);
                Ok(Self::LowRank {
                    down,
                    up: Affine::new(&up, rank, outputs, builder)?,
                })
            }
        }
    }

    /// Applies the layer to each row.
    ///
    /// # Errors
    /// When candle fails.
    pub(crate) fn forward(&self, rows: &Tensor, mode: &mut Mode<'_>) -> Result<Tensor> {
        match self {
            Self::Full(affine) => affine.forward(rows, mode),
            Self::Lora(Lora {
                a,
                b,
                base,
                scaling,
                dropout: p,
            }) => {
                let full = base.forward(rows, mode)?;
                let thin = dropout(rows, *p, mode)?
                    .matmul(&mode.value(a).t()?)?
                    .matmul(&mode.value(b).t()?)?;
                Ok((full + (thin * *scaling)?)?)
            }
            Self::LowRank { down, up } => up.forward(&rows.matmul(&mode.value(down).t()?)?, mode),
        }
    }
}

impl Affine {
    fn new(path: &str, inputs: usize, outputs: usize, builder: &mut Builder<'_>) -> Result<Self> {
        Ok(Self {
            weight: weight(format!("{path}.weight"), inputs, outputs, builder)?,
            bias: builder.parameter(
                format!("{path}.bias"),
                &[outputs],
                Init::FanInUniform { fan_in: inputs },
            )?,
        })
    }

    fn forward(&self, rows: &Tensor, mode: &Mode<'_>) -> Result<Tensor> {
        let weight = mode.value(&self.weight);
        let bias = mode.value(&self.bias);
        Ok(rows.matmul(&weight.t()?)?.broadcast_add(&bias)?)
    }
}

fn weight(name: String, inputs: usize, outputs: usize, builder: &mut Builder<'_>) -> Result<Var> {
    builder.parameter(
        name,
        &[outputs, inputs],
        Init::KaimingUniform { fan_in: inputs },
    )
}

#[expect(
    clippy::cast_precision_loss,
    reason = "Python divides by the integer as a float too"
)]
fn scaling(alpha: f64, rank: usize) -> f64 {
    alpha / rank as f64
}
