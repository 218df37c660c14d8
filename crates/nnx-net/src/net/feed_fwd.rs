//! FEED_FWD: fully connected layers in sequence.

use candle_core::Tensor;
use nnx_params::{NNParams, Nets};

use super::Net;
use super::mlp::Mlp;
use crate::error::Result;
use crate::inputs::rows;
use crate::mode::Mode;
use crate::param_builder::ParamBuilder;
use crate::parameters::Parameters;

/// Linear, activation and dropout per hidden layer, then one linear layer whose outputs are the
/// logits.
///
/// Parameters: `layers.{i}.weight [out, in]` and `layers.{i}.bias [out]`.
#[derive(Debug)]
pub(super) struct FeedFwd {
    input_dim: usize,
    layers: Mlp,
    parameters: Parameters,
}

impl FeedFwd {
    /// Builds the net.
    ///
    /// # Errors
    /// When a hidden layer has no activation, or a parameter cannot be made.
    pub(super) fn new(params: &NNParams, mut builder: ParamBuilder<'_>) -> Result<Self> {
        let input_dim = params.input_dim();
        Ok(Self {
            input_dim,
            layers: Mlp::new("layers", input_dim, params, &mut builder)?,
            parameters: builder.finish()?,
        })
    }
}

impl Net for FeedFwd {
    fn kind(&self) -> Nets {
        Nets::FeedFwd
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn forward(&self, inputs: &[Tensor], mode: &mut Mode<'_>) -> Result<Tensor> {
        let rows = rows(Nets::FeedFwd, self.input_dim, inputs)?;
        self.layers.forward(&rows, mode)
    }
}
