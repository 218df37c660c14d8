//! The fully connected layer.

use candle_core::{Tensor, Var};

use crate::error::Result;
use crate::net::Mode;
use crate::parameters::{Builder, Init};

/// `y = x · Wᵀ + b`, PyTorch's `nn.Linear`.
#[derive(Clone, Debug)]
pub(crate) struct Linear {
    weight: Var,
    bias: Var,
}

impl Linear {
    /// The layer whose parameters are `{path}.weight [outputs, inputs]` and `{path}.bias
    /// [outputs]`.
    ///
    /// # Errors
    /// When a parameter cannot be made.
    pub(crate) fn new(
        path: &str,
        inputs: usize,
        outputs: usize,
        builder: &mut Builder<'_>,
    ) -> Result<Self> {
        builder.module(path);
        Ok(Self {
            weight: builder.parameter(
                format!("{path}.weight"),
                &[outputs, inputs],
                Init::KaimingUniform { fan_in: inputs },
            )?,
            bias: builder.parameter(
                format!("{path}.bias"),
                &[outputs],
                Init::FanInUniform { fan_in: inputs },
            )?,
        })
    }

    /// Applies the layer to each row.
    ///
    /// # Errors
    /// When candle fails.
    pub(crate) fn forward(&self, rows: &Tensor, mode: &Mode<'_>) -> Result<Tensor> {
        let weight = mode.value(&self.weight);
        let bias = mode.value(&self.bias);
        Ok(rows.matmul(&weight.t()?)?.broadcast_add(&bias)?)
    }
}
