//! Multi-head attention.

use candle_core::{D, Tensor};

use crate::dropout::dropout;
use crate::error::Result;
use crate::kernels::attention::{Visible, attend, attend_to_self};
use crate::kernels::cpu::Cpu;
use crate::kernels::operation::is_for;
use crate::kernels::rotary::{Angles, rotate};
use crate::kernels::softmax::softmax;
use crate::key_value_cache::KeyValueCache;
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

/// The inputs of a language model's attention beside its tokens.
#[derive(Debug)]
pub(super) struct Causal<'a> {
    /// The angles by which queries and keys are rotated.
    pub(super) angles: &'a Angles,
    /// The cache of the tokens before these ones, with the number of this layer and the most tokens that it may hold.
    pub(super) cache: Option<(&'a mut KeyValueCache, usize, usize)>,
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

    /// For each query the mean of the values, weighted by the softmax of its products with the keys.
    /// With `causal`, queries and keys are rotated, and a query attends to no later key.
    ///
    /// # Errors
    /// When candle fails.
    pub(super) fn forward(
        &self,
        xs: &Tensor,
        causal: Option<Causal<'_>>,
        mode: &mut Mode<'_>,
    ) -> Result<Tensor> {
        let (count, tokens, width) = xs.dims3()?;
        let cpu = Cpu::new();
        let all = self.w_qkv.forward(xs, mode)?;
        let mut all = all.reshape((count, tokens, 3, self.heads, width / self.heads))?;
        let visible = match &causal {
            Some(_) => Visible::Earlier,
            None => Visible::All,
        };
        let mut cache = None;
        if let Some(causal) = causal {
            all = rotate(cpu, &all, causal.angles)?;
            cache = causal.cache;
        }
        let drops = mode.is_training() && self.dropout_prob > 0.0;
        let is_for_kernels = is_for(&[&all]) && !drops;
        let ys = if is_for_kernels && cache.is_none() {
            attend_to_self(cpu, &all, visible)?
        } else {
            let part = |at| all.narrow(2, at, 1)?.squeeze(2)?.transpose(1, 2);
            let (queries, mut keys, mut values) = (part(0)?, part(1)?, part(2)?);
            if let Some((cache, layer, most)) = cache {
                (keys, values) =
                    cache.extend(layer, &keys.contiguous()?, &values.contiguous()?, most)?;
            }
            if is_for_kernels {
                attend(cpu, &queries, &keys, &values, visible)?
            } else {
                self.composed([&queries, &keys, &values], visible, mode)?
            }
        };
        self.w_o.forward(&ys, mode)
    }

    /// The same from candle's operations, with dropout of the weights.
    fn composed(
        &self,
        [queries, keys, values]: [&Tensor; 3],
        visible: Visible,
        mode: &mut Mode<'_>,
    ) -> Result<Tensor> {
        let (count, _, tokens, size) = queries.dims4()?;
        #[expect(clippy::cast_precision_loss, reason = "a head's size is small")]
        let queries = (queries.contiguous()? * (1.0 / (size as f64).sqrt()))?;
        let mut scores = queries.matmul(&keys.contiguous()?.transpose(2, 3)?)?;
        if let (Visible::Earlier, Some(mask)) = (visible, causal_mask(tokens, keys)?) {
            scores = scores.broadcast_add(&mask)?;
        }
        let weights = dropout(&softmax(Cpu::new(), &scores)?, self.dropout_prob, mode)?;
        let ys = weights.matmul(&values.contiguous()?)?.transpose(1, 2)?;
        Ok(ys.reshape((count, tokens, self.heads * size))?)
    }
}

/// 0 if the key is not later than the query, otherwise minus infinity; the last key has the position
/// of the last query. `None` if no key is hidden.
///
/// # Errors
/// When candle fails.
fn causal_mask(queries: usize, keys: &Tensor) -> Result<Option<Tensor>> {
    let count = keys.dim(D::Minus2)?;
    if queries <= 1 {
        return Ok(None);
    }
    let past = count - queries;
    let mask: Vec<f32> = (0..queries)
        .flat_map(|query| (0..count).map(move |key| key > past + query))
        .map(|is_hidden| if is_hidden { f32::NEG_INFINITY } else { 0.0 })
        .collect();
    let mask = Tensor::from_vec(mask, (queries, count), keys.device())?;
    Ok(Some(mask.to_dtype(keys.dtype())?))
}
