//! The norm before attention and feed-forward layers.

use candle_core::{Tensor, Var};

use crate::error::Result;
use crate::init::Init;
use crate::kernels::cpu::Cpu;
use crate::kernels::rms_norm::rms_norm;
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
        let ys = rms_norm(Cpu::new(), xs, &mode.value(&self.weight), EPS)?;
        mode.note(mode.noted(), &self.path, "RMSNorm", &ys);
        Ok(ys)
    }
}

const EPS: f64 = 1e-6;
