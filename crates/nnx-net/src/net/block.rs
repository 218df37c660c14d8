//! The block of TRANSFORMER and VIT.

use candle_core::Tensor;
use nnx_params::{NNTransformerParams, NNViTParams};

use super::attention::{Attention, Causal};
use super::rms_norm::RmsNorm;
use super::swiglu::SwiGlu;
use crate::dropout::dropout;
use crate::error::Result;
use crate::mode::Mode;
use crate::param_builder::ParamBuilder;

/// `x += drop(attention(norm(x)))`, then `x += drop(feed-forward(norm(x)))`.
///
/// Parameters: `norm1.weight`, `attn.w_qkv.weight`, `attn.w_o.weight`, `norm2.weight`,
/// `ffn.w1.weight`, `.w2.weight` and `.w3.weight`.
#[derive(Debug)]
pub(super) struct Block {
    norm1: RmsNorm,
    attention: Attention,
    norm2: RmsNorm,
    ffn: SwiGlu,
    dropout_prob: f64,
}

/// The configuration of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockParams {
    /// The size of a token; the number of heads divides it.
    pub(super) width: usize,
    pub(super) heads: usize,
    /// The width of the feed-forward layer, as a multiple of the size of a token.
    pub(super) ffn_mult: usize,
    pub(super) attn_dropout: f64,
    pub(super) resid_dropout: f64,
    /// Whether the attention has a module for rotations; it has no parameters.
    pub(super) rope: bool,
}

/// The two classes have the same getters, but no trait in common.
macro_rules! block_params {
    ($($class:ty, rope: $rope:literal;)*) => {$(
        impl From<&$class> for BlockParams {
            fn from(params: &$class) -> Self {
                Self {
                    width: params.d_model(),
                    heads: params.n_heads(),
                    ffn_mult: params.ffn_mult(),
                    attn_dropout: params.attn_dropout().as_f64(),
                    resid_dropout: params.resid_dropout().as_f64(),
                    rope: $rope,
                }
            }
        }
    )*};
}

block_params! {
    NNTransformerParams, rope: true;
    NNViTParams, rope: false;
}

impl Block {
    /// The blocks `blocks.0`, `blocks.1` and so on.
    ///
    /// # Errors
    /// When a parameter cannot be made.
    pub(super) fn stack(
        count: usize,
        params: BlockParams,
        builder: &mut ParamBuilder<'_>,
    ) -> Result<Vec<Self>> {
        builder.module("blocks");
        (0..count)
            .map(|index| Self::new(&format!("blocks.{index}"), params, builder))
            .collect()
    }

    fn new(path: &str, params: BlockParams, builder: &mut ParamBuilder<'_>) -> Result<Self> {
        let width = params.width;
        builder.module(path);
        let norm1 = RmsNorm::new(&format!("{path}.norm1"), width, builder)?;
        let attention = format!("{path}.attn");
        let attention = Attention::new(
            &attention,
            width,
            params.heads,
            params.attn_dropout,
            builder,
        )?;
        if params.rope {
            builder.module(format!("{path}.attn.rope"));
        }
        Ok(Self {
            norm1,
            attention,
            norm2: RmsNorm::new(&format!("{path}.norm2"), width, builder)?,
            ffn: SwiGlu::new(&format!("{path}.ffn"), width, params.ffn_mult, builder)?,
            dropout_prob: params.resid_dropout,
        })
    }

    /// The outputs for tokens `[N, T, width]`, whose attention is causal or not.
    ///
    /// # Errors
    /// When candle fails.
    pub(super) fn forward(
        &self,
        xs: &Tensor,
        causal: Option<Causal<'_>>,
        mode: &mut Mode<'_>,
    ) -> Result<Tensor> {
        let normed = self.norm1.forward(xs, mode)?;
        let ys = self.attention.forward(&normed, causal, mode)?;
        let xs = (xs + dropout(&ys, self.dropout_prob, mode)?)?;
        let ys = self.ffn.forward(&self.norm2.forward(&xs, mode)?, mode)?;
        Ok((&xs + dropout(&ys, self.dropout_prob, mode)?)?)
    }
}
