//! The norm before attention and feed-forward layers.

use candle_core::{D, Tensor, Var};

use crate::error::Result;
use crate::init::Init;
use crate::mode::Mode;
use crate::param_builder::ParamBuilder;

/// `x / sqrt(mean(x²) + 1e-6) · w` along the last axis.
#[derive(Debug)]
pub(super) struct RmsNorm {
    path: String,
    weight: Var,
}

impl RmsNorm {
    /// The norm at that path, of the parameter `{path}.weight [width]`.
    ///
    /// # Errors
    /// When the parameter cannot be made.
    pub(super) fn new(path: &str, width: usize, builder: &mut ParamBuilder<'_>) -> Result<Self> {
        builder.module(path);
        let weight = builder.parameter(format!("{path}.weight"), &[width], Init::Constant(1.0))?;
        Ok(Self {
            path: path.to_owned(),
            weight,
        })
    }

    /// # Errors
    /// When candle fails.
    pub(super) fn forward(&self, xs: &Tensor, mode: &mut Mode<'_>) -> Result<Tensor> {
        let ys = self.apply(xs, mode)?;
        mode.note(mode.noted(), &self.path, "RMSNorm", &ys);
        Ok(ys)
    }

    fn apply(&self, xs: &Tensor, mode: &Mode<'_>) -> Result<Tensor> {
        let weight = mode.value(&self.weight);
        if !mode.is_training() {
            // One pass, which has no gradient.
            return Ok(candle_nn::ops::rms_norm(&xs.contiguous()?, &weight, EPS)?);
        }
        let squares = xs.sqr()?.mean_keepdim(D::Minus1)?;
        let norms = (squares + f64::from(EPS))?.sqrt()?;
        Ok(xs.broadcast_div(&norms)?.broadcast_mul(&weight)?)
    }
}

const EPS: f32 = 1e-6;
