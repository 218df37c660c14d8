//! The feed-forward layer of transformer blocks.

use candle_core::Tensor;

use crate::error::{Error, Result};
use crate::kernels::cpu::Cpu;
use crate::kernels::swiglu::swiglu;
use crate::linear::Linear;
use crate::mode::Mode;
use crate::param_builder::ParamBuilder;

/// `(silu(x · W₁ᵀ) ⊙ x · W₃ᵀ) · W₂ᵀ`.
#[derive(Debug)]
pub(super) struct SwiGlu {
    gate: Linear,
    down: Linear,
    up: Linear,
}

impl SwiGlu {
    /// The layer at that path, `2 · multiple · width / 3` wide inside.
    ///
    /// Parameters: `{path}.w1.weight`, `{path}.w2.weight`, `{path}.w3.weight`.
    ///
    /// # Errors
    /// When a parameter cannot be made.
    pub(super) fn new(
        path: &str,
        width: usize,
        multiple: usize,
        builder: &mut ParamBuilder<'_>,
    ) -> Result<Self> {
        let wide = width
            .checked_mul(multiple)
            .and_then(|product| product.checked_mul(2))
            .ok_or_else(|| {
                Error::unsupported(format!("`ffn_mult` `{multiple}` of `{width}` overflows"))
            })?
            / 3;
        builder.module(path);
        let mut linear = |name: &str, inputs, outputs| {
            Linear::without_bias(&format!("{path}.{name}"), inputs, outputs, builder)
        };
        Ok(Self {
            gate: linear("w1", width, wide)?,
            down: linear("w2", wide, width)?,
            up: linear("w3", width, wide)?,
        })
    }

    /// # Errors
    /// When candle fails.
    pub(super) fn forward(&self, xs: &Tensor, mode: &mut Mode<'_>) -> Result<Tensor> {
        let gate = self.gate.forward(xs, mode)?;
        let wide = swiglu(Cpu::new(), &gate, &self.up.forward(xs, mode)?)?;
        self.down.forward(&wide, mode)
    }
}
