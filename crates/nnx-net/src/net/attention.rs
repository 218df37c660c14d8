//! Multi-head attention.

use candle_core::{D, Tensor};
use nnx_params::Activations;

use crate::activation::activate;
use crate::dropout::dropout;
use crate::error::Result;
use crate::linear::Linear;
use crate::mode::Mode;
use crate::param_builder::ParamBuilder;

/// The attention and its two linear layers.
///
/// Parameters: `{path}.w_qkv.weight [3 · d, d]` and `{path}.w_o.weight [d, d]`.
#[derive(Debug)]
pub(super) struct Attention {
    w_qkv: Linear,
    w_o: Linear,
    heads: usize,
    dropout_prob: f64,
}

/// Queries, keys and values, each `[N, heads, T, d / heads]`.
#[derive(Debug)]
pub(super) struct Heads {
    pub(super) queries: Tensor,
    pub(super) keys: Tensor,
    pub(super) values: Tensor,
}

impl Attention {
    /// The layers at that path; `heads` divides `width`.
    ///
    /// # Errors
    /// When a parameter cannot be made.
    pub(super) fn new(
        path: &str,
        width: usize,
        heads: usize,
        dropout_prob: f64,
        builder: &mut ParamBuilder<'_>,
    ) -> Result<Self> {
        builder.module(path);
        let mut linear = |name: &str, outputs| {
            Linear::without_bias(&format!("{path}.{name}"), width, outputs, builder)
        };
        Ok(Self {
            w_qkv: linear("w_qkv", width.saturating_mul(3))?,
            w_o: linear("w_o", width)?,
            heads,
            dropout_prob,
        })
    }

    /// The queries, keys and values of tokens `[N, T, d]`.
    ///
    /// # Errors
    /// When candle fails.
    pub(super) fn heads(&self, xs: &Tensor, mode: &mut Mode<'_>) -> Result<Heads> {
        let (count, tokens, width) = xs.dims3()?;
        let all = self.w_qkv.forward(xs, mode)?;
        let all = all.reshape((count, tokens, 3, self.heads, width / self.heads))?;
        let part = |at| -> Result<Tensor> {
            let part = all.narrow(2, at, 1)?.squeeze(2)?;
            Ok(part.transpose(1, 2)?.contiguous()?)
        };
        Ok(Heads {
            queries: part(0)?,
            keys: part(1)?,
            values: part(2)?,
        })
    }

    /// For each query the mean of the values, weighted by the softmax of the scores of its keys; `mask`
    /// is added to the scores `[T, keys]`.
    ///
    /// # Errors
    /// When candle fails.
    pub(super) fn forward(
        &self,
        heads: &Heads,
        mask: Option<&Tensor>,
        mode: &mut Mode<'_>,
    ) -> Result<Tensor> {
        let (count, _, tokens, size) = heads.queries.dims4()?;
        #[expect(clippy::cast_precision_loss, reason = "a head's size is small")]
        let queries = (&heads.queries * (1.0 / (size as f64).sqrt()))?;
        let mut scores = queries.matmul(&heads.keys.transpose(2, 3)?)?;
        if let Some(mask) = mask {
            scores = scores.broadcast_add(mask)?;
        }
        let weights = if mode.is_training() {
            activate(Activations::Softmax, &scores)?
        } else {
            // One pass, which has no gradient.
            candle_nn::ops::softmax_last_dim(&scores)?
        };
        let weights = dropout(&weights, self.dropout_prob, mode)?;
        let ys = weights.matmul(&heads.values)?.transpose(1, 2)?;
        let ys = ys.reshape((count, tokens, self.heads * size))?;
        self.w_o.forward(&ys, mode)
    }
}

/// 0 if the key is not later than the query, otherwise minus infinity; the last key has the position
/// of the last query. `None` if no key is hidden.
///
/// # Errors
/// When candle fails.
pub(super) fn causal_mask(queries: usize, keys: &Tensor) -> Result<Option<Tensor>> {
    let count = keys.dim(D::Minus2)?;
    if queries <= 1 {
        return Ok(None);
    }
    let past = count - queries;
    let mask: Vec<f32> = (0..queries)
        .flat_map(|query| (0..count).map(move |key| key > past + query))
        .map(|is_hidden| if is_hidden { f32::NEG_INFINITY } else { 0.0 })
        .collect();
    Ok(Some(Tensor::from_vec(
        mask,
        (queries, count),
        keys.device(),
    )?))
}
