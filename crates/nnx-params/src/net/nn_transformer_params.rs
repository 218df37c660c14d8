//! The parameters of decoder-only language models.

use std::fmt;

use crate::class::{
    Arguments, count, defaulted, literal, number, positive, probability, python_class, required,
    setters, state_methods,
};
use crate::enums::Activations;
use crate::error::{Error, Result};
use crate::net::nn_params::{self, NNParams, base_setters, check_heads};
use crate::number::Number;
use crate::value::{State, Value};

python_class! {
    class {
        /// The parameters of a decoder-only transformer with rotary positions.
        ///
        /// ```
        /// use nnx_params::NNTransformerParams;
        ///
        /// let params = NNTransformerParams::builder()
        ///     .vocab_size(11)
        ///     .n_layers(2)
        ///     .d_model(8)
        ///     .n_heads(2)
        ///     .max_seq_len(8)
        ///     .build()?;
        /// assert_eq!(params.base().output_dim(), 11);
        /// assert_eq!(
        ///     params.to_string(),
        ///     "[transformer, vocab=11, layers=2, d_model=8, heads=2, seq=8]"
        /// );
        /// # Ok::<(), nnx_params::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        NNTransformerParams { base: NNParams } in "nnx.nn.params.nn_transformer_params";
        errors: "`d_model` is not an even multiple of `n_heads`";
        pickle order: "vocab_size", "n_layers", "d_model", "max_seq_len", "ffn_mult", "rope_base",
            "tie_embeddings";
        state order: "n_layers", "d_model", "vocab_size", "max_seq_len", "ffn_mult", "rope_base",
            "tie_embeddings";
        required: &["vocab_size", "n_layers", "d_model", "max_seq_len"];
        check head: check_heads;
        check: NNTransformerParams::check;
        read state: read_state;
    }
    fields {
        /// The number of tokens.
        vocab_size: usize => usize = required(count::<1>), set usize, "There is no default.";
        /// The number of blocks.
        n_layers: usize => usize = required(count::<1>), set usize, "There is no default.";
        /// The width of a token's vector.
        d_model: usize => usize = required(count::<1>), set usize, "There is no default.";
        /// The longest sequence, in tokens.
        max_seq_len: usize => usize = required(count::<1>), set usize, "There is no default.";
        /// The width of the feed-forward layers, in multiples of `d_model`.
        ffn_mult: usize => usize = defaulted(count::<1>, 4), set usize, "Default: 4.";
        /// The dropout probability of the attention weights.
        attn_dropout: Number => Number = defaulted(probability, 0.0.into()),
            set impl Into<Number> as Number, "Default: 0.0.";
        /// The dropout probability of the output that each block adds.
        resid_dropout: Number => Number = defaulted(probability, 0.0.into()),
            set impl Into<Number> as Number, "Default: 0.0.";
        /// The base of the rotary positions' wavelengths.
        rope_base: Number => Number = defaulted(positive, 10000.0.into()),
            set impl Into<Number> as Number, "Default: 10000.0.";
        /// Whether the output layer shares the weights of the token embedding.
        tie_embeddings: Number => bool = defaulted(number, true.into())
            .written_if(Number::is_not_true),
            set bool, "Default: true.";
    }
    builder {
        /// Starts without any field. `build` sets the dropout probability of the base to 0.0.
        NNTransformerParamsBuilder for NNTransformerParams();
        completes: |fields: State| {
            if fields.contains_key("vocab_size") { with_defaults(fields) } else { fields }
        };
    }
}

impl NNTransformerParamsBuilder {
    base_setters!();

    setters! {
        [
            /// The number of values in one input sample, which the net does not use.
        ] input_dim ["input_dim"] set usize, "Default: the vocabulary."
    }
    setters! {
        [
            /// The number of values in one output, which the net does not use.
        ] output_dim ["output_dim"] set usize, "Default: the vocabulary."
    }
}

/// Fills in the fields that the shorter states of language models leave out: the sizes of input and
/// output are the vocabulary, dropout is 0.0, the activation is leaky ReLU.
fn with_defaults(fields: State) -> State {
    let vocab_size = fields.get("vocab_size").cloned().unwrap_or(Value::None);
    let defaults = State::from_iter([
        ("input_dim", vocab_size.clone()),
        ("output_dim", vocab_size),
        ("dropout_prob", Value::Float(0.0)),
        ("activation", Activations::LeakyRelu.into()),
    ]);
    fields.followed_by(&defaults)
}

/// In the shorter states, the hidden sizes may also be absent or a real list.
fn read_state(known: &mut State) -> Result<()> {
    let hidden_dims = match known.remove("hidden_dims") {
        Some(text @ Value::Str(_)) => literal(NNTransformerParams::CLASS, "hidden_dims", &text)?,
        other => other.unwrap_or(Value::None),
    };
    nn_params::read_texts(NNTransformerParams::CLASS, known)?;
    known.insert("hidden_dims", hidden_dims);
    *known = with_defaults(std::mem::take(known));
    Ok(())
}

impl NNTransformerParams {
    state_methods!();

    /// The fields that every net has.
    pub fn base(&self) -> &NNParams {
        &self.base
    }

    fn check(self, _: &Arguments<'_>) -> Result<Self> {
        let (d_model, n_heads) = (self.d_model, self.n_heads());
        let domain = match d_model.checked_rem(n_heads) {
            Some(0) if (d_model / n_heads).is_multiple_of(2) => return Ok(self),
            Some(0) => "an even multiple of `n_heads`, as rotary positions turn pairs of channels",
            _ => "divisible by `n_heads`",
        };
        let found = format!("`{d_model}` with `{n_heads}` heads");
        Err(Error::inconsistent(Self::CLASS, "d_model", domain, found))
    }

    /// The number of attention heads.
    pub fn n_heads(&self) -> usize {
        self.base.checked_heads()
    }

    /// The flag of [`tie_embeddings`](Self::tie_embeddings) as it was given; Python writes `1` and
    /// `True` differently.
    pub fn tie_embeddings_given(&self) -> Number {
        self.tie_embeddings
    }
}

/// Writes Python's `str`.
impl fmt::Display for NNTransformerParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[transformer, vocab={}, layers={}, d_model={}, heads={}, seq={}]",
            self.vocab_size,
            self.n_layers,
            self.d_model,
            self.n_heads(),
            self.max_seq_len
        )
    }
}
