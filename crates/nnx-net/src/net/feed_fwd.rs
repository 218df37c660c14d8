//! FEED_FWD: fully connected layers one behind the other.

use candle_core::{DType, Tensor};
use nnx_params::{Activations, NNParams, Nets};

use super::{Mode, Net, dtype_name};
use crate::activation::activate;
use crate::dropout::dropout;
use crate::error::{Error, Result};
use crate::linear::Linear;
use crate::parameters::{Builder, Parameters};

/// Linear, activation and dropout per hidden layer, then one linear layer whose outputs are the
/// logits.
///
/// Parameters: `layers.{i}.weight [out, in]` and `layers.{i}.bias [out]`.
#[derive(Debug)]
pub(super) struct FeedFwd {
    input_dim: usize,
    hidden: Vec<Hidden>,
    output: Linear,
    parameters: Parameters,
}

#[derive(Debug)]
struct Hidden {
    linear: Linear,
    activation: Activations,
    dropout_prob: f64,
}

impl FeedFwd {
    /// Builds the net.
    ///
    /// # Errors
    /// When a hidden layer has no activation, or a parameter cannot be made.
    pub(super) fn new(params: &NNParams, mut builder: Builder<'_>) -> Result<Self> {
        builder.module("layers");
        let mut width = params.input_dim();
        let mut hidden = Vec::new();
        for (i, &next) in params.hidden_dims().unwrap_or_default().iter().enumerate() {
            hidden.push(Hidden {
                linear: Linear::new(&format!("layers.{i}"), width, next, &mut builder)?,
                activation: params.hidden_activation(i)?,
                dropout_prob: params.hidden_dropout(i),
            });
            width = next;
        }
        let path = format!("layers.{}", hidden.len());
        let output = Linear::new(&path, width, params.output_dim(), &mut builder)?;
        Ok(Self {
            input_dim: params.input_dim(),
            hidden,
            output,
            parameters: builder.finish()?,
        })
    }

    /// The input as rows of `input_dim` numbers: all axes but the first are flattened.
    fn rows(&self, inputs: &[Tensor]) -> Result<Tensor> {
        let wrong = |found: String| {
            Err(Error::input(
                Nets::FeedFwd.value(),
                format!("at least one float32 row of `{}` numbers", self.input_dim),
                found,
            ))
        };
        let [input] = inputs else {
            return wrong(format!("`{}` inputs", inputs.len()));
        };
        if input.dtype() != DType::F32 {
            return wrong(format!("the dtype `{}`", dtype_name(input.dtype())));
        }
        match input.dims() {
            &[rows, ref rest @ ..]
                if rows > 0 && rest.iter().product::<usize>() == self.input_dim =>
            {
                Ok(input.reshape((rows, self.input_dim))?)
            }
            dims => wrong(format!("the shape `{dims:?}`")),
        }
    }
}

impl Net for FeedFwd {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn forward(&self, inputs: &[Tensor], mode: &mut Mode<'_>) -> Result<Tensor> {
        let mut xs = self.rows(inputs)?;
        for layer in &self.hidden {
            xs = layer.linear.forward(&xs, mode)?;
            xs = activate(layer.activation, &xs)?;
            xs = dropout(&xs, layer.dropout_prob, mode)?;
        }
        self.output.forward(&xs, mode)
    }
}
