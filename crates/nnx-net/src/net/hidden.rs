//! The activation and the dropout after a hidden layer.

use candle_core::Tensor;
use nnx_params::{Activations, NNParams};

use crate::activation::activate;
use crate::dropout::dropout;
use crate::error::Result;
use crate::linear::Linear;
use crate::mode::Mode;

/// The activation and the dropout after a hidden layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hidden {
    activation: Activations,
    dropout_prob: f64,
}

impl Hidden {
    /// Those of the hidden layer `index`, counted from 0.
    ///
    /// # Errors
    /// When the layer has no activation.
    pub(super) fn new(params: &NNParams, index: usize) -> Result<Self> {
        Ok(Self {
            activation: params.hidden_activation(index)?,
            dropout_prob: params.hidden_dropout(index),
        })
    }

    /// Applies both.
    ///
    /// # Errors
    /// When candle fails.
    pub(super) fn forward(self, xs: &Tensor, mode: &mut Mode<'_>) -> Result<Tensor> {
        dropout(&activate(self.activation, xs)?, self.dropout_prob, mode)
    }

    /// Applies a layer, then both.
    ///
    /// # Errors
    /// When candle fails.
    pub(super) fn after(self, linear: &Linear, xs: &Tensor, mode: &mut Mode<'_>) -> Result<Tensor> {
        let ys = linear.forward_activated(self.activation, xs, mode)?;
        dropout(&ys, self.dropout_prob, mode)
    }
}
