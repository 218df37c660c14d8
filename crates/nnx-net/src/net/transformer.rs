//! TRANSFORMER: a decoder-only language model.

use candle_core::{DType, Tensor, Var};
use nnx_params::{NNTransformerParams, Nets};

use super::Net;
use super::attention::Causal;
use super::block::Block;
use super::rms_norm::RmsNorm;
use super::rope::Rope;
use crate::error::{Error, Result};
use crate::init::Init;
use crate::inputs::{wrong_count, wrong_dtype, wrong_shape};
use crate::key_value_cache::KeyValueCache;
use crate::linear::Linear;
use crate::mode::Mode;
use crate::param_builder::ParamBuilder;
use crate::parameters::Parameters;

/// Token embedding, blocks of causal attention and feed-forward layer, norm, and a linear layer that
/// gives a logit for each token of the vocabulary.
///
/// Parameters: `tok_embed.weight [V, d]`; per block `blocks.{b}.norm1.weight`,
/// `blocks.{b}.attn.w_qkv.weight`, `blocks.{b}.attn.w_o.weight`, `blocks.{b}.norm2.weight`,
/// `blocks.{b}.ffn.w1.weight`, `.w2.weight` and `.w3.weight`; `norm_out.weight`; `lm_head.weight`,
/// which is `tok_embed.weight` where the embeddings are tied.
#[derive(Debug)]
pub(super) struct Transformer {
    vocab_size: usize,
    max_seq_len: usize,
    embedding: Var,
    rope: Rope,
    blocks: Vec<Block>,
    norm: RmsNorm,
    head: Linear,
    parameters: Parameters,
}

impl Transformer {
    /// Builds the net.
    ///
    /// # Errors
    /// When a parameter cannot be made.
    pub(super) fn new(params: &NNTransformerParams, mut builder: ParamBuilder<'_>) -> Result<Self> {
        let (vocab_size, width) = (params.vocab_size(), params.d_model());
        builder.module("tok_embed");
        let name = "tok_embed.weight";
        // PyTorch's embedding draws its values when it is created; NNx draws them again, smaller.
        builder.discard(&[vocab_size, width], Init::Normal { std: 1.0 })?;
        let init = Init::Normal { std: 0.02 };
        let embedding = builder.parameter(name.to_owned(), &[vocab_size, width], init)?;
        let blocks = Block::stack(params.n_layers(), params.into(), &mut builder)?;
        let norm = RmsNorm::new("norm_out", width, &mut builder)?;
        let head = if params.tie_embeddings() {
            let sizes = (width, vocab_size);
            // PyTorch draws the layer's own weight before NNx puts that of the embedding in its place.
            let own = Init::KaimingUniform { fan_in: width };
            builder.discard(&[vocab_size, width], own)?;
            Linear::tied("lm_head", sizes, (name, &embedding), &mut builder)?
        } else {
            Linear::without_bias("lm_head", width, vocab_size, &mut builder)?
        };
        // Only now, after the parameters were found to have the sizes that the file states, may those
        // sizes decide how large the rotation tables are.
        let parameters = builder.finish()?;
        Ok(Self {
            vocab_size,
            max_seq_len: params.max_seq_len(),
            embedding,
            rope: Rope::new(width / params.n_heads(), params.rope_base().as_f64()),
            blocks,
            norm,
            head,
            parameters,
        })
    }

    /// The embeddings of token ids `[N, T]` that follow `past` earlier tokens.
    fn embed(&self, inputs: &[Tensor], past: usize, mode: &mut Mode<'_>) -> Result<Tensor> {
        let net = Nets::Transformer;
        let expected = || {
            let most = self.max_seq_len;
            format!("int64 token ids of shape `[N, T]` with `T` from `1` to `{most}`")
        };
        let [tokens] = inputs else {
            return Err(wrong_count(net, expected(), inputs));
        };
        if !matches!(tokens.dtype(), DType::I64 | DType::I32 | DType::U32) {
            return Err(wrong_dtype(net, expected(), tokens));
        }
        let &[count, length] = tokens.dims() else {
            return Err(wrong_shape(net, expected(), tokens));
        };
        if count == 0 || length == 0 || length > self.max_seq_len {
            return Err(wrong_shape(net, expected(), tokens));
        }
        if past + length > self.max_seq_len {
            let found = format!("`{length}` tokens after `{past}` cached ones");
            return Err(Error::input(net.value(), expected(), found));
        }
        let ids = tokens.flatten_all()?.to_dtype(DType::I64)?;
        let size = i64::try_from(self.vocab_size).unwrap_or(i64::MAX);
        if let Some(id) = ids
            .to_vec1::<i64>()?
            .iter()
            .find(|id| !(0..size).contains(*id))
        {
            return Err(Error::input(
                net.value(),
                format!("token ids from `0` to `{}`", size - 1),
                format!("the id `{id}`"),
            ));
        }
        let rows = mode.value(&self.embedding).index_select(&ids, 0)?;
        let xs = rows.reshape((count, length, ()))?;
        mode.note(mode.noted(), "tok_embed", "Embedding", &xs);
        Ok(xs)
    }

    /// The logits of embedded tokens.
    fn decode(
        &self,
        mut xs: Tensor,
        mut cache: Option<&mut KeyValueCache>,
        mode: &mut Mode<'_>,
    ) -> Result<Tensor> {
        let (count, tokens, _) = xs.dims3()?;
        let mut past = 0;
        if let Some(cache) = &cache {
            cache.check(self.blocks.len(), count)?;
            past = cache.len();
        }
        let angles = self.rope.angles(past, tokens);
        for (layer, block) in self.blocks.iter().enumerate() {
            let cache = cache.as_deref_mut();
            let causal = Causal {
                angles: &angles,
                cache: cache.map(|cache| (cache, layer, self.max_seq_len)),
            };
            xs = block.forward(&xs, Some(causal), mode)?;
        }
        if let Some(cache) = cache {
            cache.advance(tokens);
        }
        self.head.forward(&self.norm.forward(&xs, mode)?, mode)
    }
}

impl Net for Transformer {
    fn kind(&self) -> Nets {
        Nets::Transformer
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn forward(&self, inputs: &[Tensor], mode: &mut Mode<'_>) -> Result<Tensor> {
        self.decode(self.embed(inputs, 0, mode)?, None, mode)
    }

    fn forward_with_cache(&self, tokens: &Tensor, cache: &mut KeyValueCache) -> Result<Tensor> {
        let mode = &mut Mode::Eval;
        let xs = self.embed(std::slice::from_ref(tokens), cache.len(), mode)?;
        self.decode(xs, Some(cache), mode)
    }
}
