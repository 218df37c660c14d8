//! Linear layers in sequence.

use candle_core::Tensor;
use nnx_params::NNParams;

use super::hidden::Hidden;
use crate::error::Result;
use crate::linear::Linear;
use crate::mode::Mode;
use crate::param_builder::ParamBuilder;

/// Linear, activation and dropout per hidden layer, then one linear layer.
#[derive(Debug)]
pub(super) struct Mlp {
    hidden: Vec<(Linear, Hidden)>,
    output: Linear,
}

impl Mlp {
    /// The layers `{path}.{i}` between `inputs` numbers a row and the outputs of the parameters.
    ///
    /// # Errors
    /// When a hidden layer has no activation, or a parameter cannot be made.
    pub(super) fn new(
        path: &str,
        inputs: usize,
        params: &NNParams,
        builder: &mut ParamBuilder<'_>,
    ) -> Result<Self> {
        builder.module(path);
        let mut width = inputs;
        let mut hidden = Vec::new();
        for (i, &next) in params.hidden_dims().unwrap_or_default().iter().enumerate() {
            let linear = Linear::new(&format!("{path}.{i}"), width, next, builder)?;
            hidden.push((linear, Hidden::new(params, i)?));
            width = next;
        }
        let path = format!("{path}.{}", hidden.len());
        let output = Linear::new(&path, width, params.output_dim(), builder)?;
        Ok(Self { hidden, output })
    }

    /// Applies the layers to each row.
    ///
    /// # Errors
    /// When candle fails.
    pub(super) fn forward(&self, rows: &Tensor, mode: &mut Mode<'_>) -> Result<Tensor> {
        let mut xs = rows.clone();
        for (linear, hidden) in &self.hidden {
            xs = hidden.after(linear, &xs, mode)?;
        }
        self.output.forward(&xs, mode)
    }
}
