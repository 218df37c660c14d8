//! The parameters of decoder-only language models.

use std::fmt;

use crate::fields::{self, Fields, POSITIVE, literal, setters, split_state};
use crate::nn_params::{self, base_setters};
use crate::{Activations, Error, NNParams, Number, Result, State, Value};

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
pub struct NNTransformerParams {
    base: NNParams,
    n_heads: usize,
    vocab_size: usize,
    n_layers: usize,
    d_model: usize,
    max_seq_len: usize,
    ffn_mult: usize,
    rope_base: Number,
    tie_embeddings: Number,
    attn_dropout: Number,
    resid_dropout: Number,
}

const DEFAULT_FFN_MULT: usize = 4;
const DEFAULT_ROPE_BASE: f64 = 10000.0;
/// The state keys that `from_state` cannot do without.
const REQUIRED: &[&str] = &["vocab_size", "n_layers", "d_model", "max_seq_len"];
/// The other state keys of this class.
const OPTIONAL: &[&str] = &[
    "ffn_mult",
    "rope_base",
    "tie_embeddings",
    "attn_dropout",
    "resid_dropout",
];

impl NNTransformerParams {
    /// The Python class.
    pub const CLASS: &'static str = "NNTransformerParams";

    /// The fields in the order of declaration, in which a pickle lists them.
    pub const FIELDS: &'static [&'static str] = &[
        "dropout_prob",
        "n_heads",
        "activation",
        "activations",
        "dropout_probs",
        "input_dim",
        "output_dim",
        "hidden_dims",
        "_dims",
        "vocab_size",
        "n_layers",
        "d_model",
        "max_seq_len",
        "ffn_mult",
        "rope_base",
        "tie_embeddings",
        "attn_dropout",
        "resid_dropout",
    ];

    /// Starts without any field.
    pub fn builder() -> NNTransformerParamsBuilder {
        NNTransformerParamsBuilder {
            fields: State::new(),
        }
    }

    /// Builds from the constructor's arguments, an enum being its text.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain; or `d_model` is not
    /// an even multiple of `n_heads`.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let base = NNParams::base(&fields)?;
        let n_heads = base.n_heads().ok_or_else(|| {
            Error::invalid(Self::CLASS, "n_heads", "an integer > 0", &Value::None)
        })?;
        let params = Self {
            base,
            n_heads,
            vocab_size: fields.count("vocab_size", 1)?,
            n_layers: fields.count("n_layers", 1)?,
            d_model: fields.count("d_model", 1)?,
            max_seq_len: fields.count("max_seq_len", 1)?,
            ffn_mult: fields.count_or("ffn_mult", 1, DEFAULT_FFN_MULT)?,
            attn_dropout: dropout(&fields, "attn_dropout")?,
            resid_dropout: dropout(&fields, "resid_dropout")?,
            rope_base: fields.finite_or("rope_base", &POSITIVE, DEFAULT_ROPE_BASE)?,
            tie_embeddings: fields.number_or("tie_embeddings", true)?,
        };
        let d_model = params.d_model;
        let domain = match d_model.checked_rem(n_heads) {
            Some(0) if (d_model / n_heads).is_multiple_of(2) => return Ok(params),
            Some(0) => "an even multiple of `n_heads`, as rotary positions turn pairs of channels",
            _ => "divisible by `n_heads`",
        };
        let found = format!("`{d_model}` with `{n_heads}` heads");
        Err(Error::inconsistent(Self::CLASS, "d_model", domain, found))
    }

    /// Builds from what [`state`](Self::state) returns, or from the shorter states of language
    /// models: the sizes of input and output default to the vocabulary, dropout to 0.0, the
    /// activation to leaky ReLU, and the hidden sizes may be absent or a real list.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let optional = [nn_params::REQUIRED, nn_params::OPTIONAL, OPTIONAL].concat();
        let (mut known, unknown) = split_state(Self::CLASS, state, REQUIRED, &optional)?;
        let hidden_dims = match known.remove("hidden_dims") {
            Some(text @ Value::Str(_)) => literal(Self::CLASS, "hidden_dims", &text)?,
            other => other.unwrap_or(Value::None),
        };
        nn_params::read_texts(Self::CLASS, &mut known)?;
        known.insert("hidden_dims", hidden_dims);
        let mut params = Self::from_fields(&with_defaults(known))?;
        params.base = params.base.with_unknown(unknown);
        Ok(params)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = self.base.state();
        state.insert("n_layers", self.n_layers);
        state.insert("d_model", self.d_model);
        state.insert("vocab_size", self.vocab_size);
        state.insert("max_seq_len", self.max_seq_len);
        if self.ffn_mult != DEFAULT_FFN_MULT {
            state.insert("ffn_mult", self.ffn_mult);
        }
        if !self.rope_base.same_amount(DEFAULT_ROPE_BASE) {
            state.insert("rope_base", self.rope_base);
        }
        if self.tie_embeddings != Number::Bool(true) {
            state.insert("tie_embeddings", self.tie_embeddings);
        }
        if !self.attn_dropout.same_amount(0.0) {
            state.insert("attn_dropout", self.attn_dropout);
        }
        if !self.resid_dropout.same_amount(0.0) {
            state.insert("resid_dropout", self.resid_dropout);
        }
        state
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown).
    pub fn full_state(&self) -> State {
        self.state().followed_by(self.unknown())
    }

    /// The keys that [`from_state`](Self::from_state) met and this version does not know.
    pub fn unknown(&self) -> &State {
        self.base.unknown()
    }

    /// The fields that every net has.
    pub fn base(&self) -> &NNParams {
        &self.base
    }

    /// The number of attention heads.
    pub fn n_heads(&self) -> usize {
        self.n_heads
    }

    /// The number of tokens.
    pub fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    /// The number of blocks.
    pub fn n_layers(&self) -> usize {
        self.n_layers
    }

    /// The width of a token's vector.
    pub fn d_model(&self) -> usize {
        self.d_model
    }

    /// The longest sequence, in tokens.
    pub fn max_seq_len(&self) -> usize {
        self.max_seq_len
    }

    /// The width of the feed-forward layers, in multiples of `d_model`.
    pub fn ffn_mult(&self) -> usize {
        self.ffn_mult
    }

    /// The base of the rotary positions' wavelengths.
    pub fn rope_base(&self) -> Number {
        self.rope_base
    }

    /// Whether the output layer shares the weights of the token embedding.
    pub fn tie_embeddings(&self) -> bool {
        self.tie_embeddings.truth()
    }

    /// The flag of [`tie_embeddings`](Self::tie_embeddings) as it was given; Python writes `1` and
    /// `True` differently.
    pub fn tie_embeddings_given(&self) -> Number {
        self.tie_embeddings
    }

    /// The dropout probability of the attention weights.
    pub fn attn_dropout(&self) -> Number {
        self.attn_dropout
    }

    /// The dropout probability of what each block adds.
    pub fn resid_dropout(&self) -> Number {
        self.resid_dropout
    }
}

/// Fills in what a short state leaves out.
fn with_defaults(mut fields: State) -> State {
    let vocab_size = fields.get("vocab_size").cloned().unwrap_or(Value::None);
    let defaults = State::from_iter([
        ("input_dim", vocab_size.clone()),
        ("output_dim", vocab_size),
        ("dropout_prob", Value::Float(0.0)),
        ("activation", Activations::LeakyRelu.into()),
    ]);
    fields = fields.followed_by(&defaults);
    fields
}

fn dropout(fields: &Fields<'_>, field: &str) -> Result<Number> {
    fields.given(field).map_or(Ok(Number::Float(0.0)), |value| {
        fields::probability(fields.class, field, value)
    })
}

/// Writes Python's `str`.
impl fmt::Display for NNTransformerParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[transformer, vocab={}, layers={}, d_model={}, heads={}, seq={}]",
            self.vocab_size, self.n_layers, self.d_model, self.n_heads, self.max_seq_len
        )
    }
}

/// Collects the fields of [`NNTransformerParams`]; see [`NNTransformerParams::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct NNTransformerParamsBuilder {
    fields: State,
}

impl NNTransformerParamsBuilder {
    base_setters!();

    setters! {
        /// The number of values in one input sample, unused by the net. Default: the vocabulary.
        input_dim: usize as usize,
        /// The number of values in one output, unused by the net. Default: the vocabulary.
        output_dim: usize as usize,
        /// The number of tokens. There is no default.
        vocab_size: usize as usize,
        /// The number of blocks. There is no default.
        n_layers: usize as usize,
        /// The width of a token's vector. There is no default.
        d_model: usize as usize,
        /// The longest sequence, in tokens. There is no default.
        max_seq_len: usize as usize,
        /// The width of the feed-forward layers, in multiples of `d_model`. Default: 4.
        ffn_mult: usize as usize,
        /// The base of the rotary positions' wavelengths. Default: 10000.0.
        rope_base: impl Into<Number> as Number,
        /// Whether the output layer shares the weights of the token embedding. Default: true.
        tie_embeddings: bool as bool,
        /// The dropout probability of the attention weights. Default: 0.0.
        attn_dropout: impl Into<Number> as Number,
        /// The dropout probability of what each block adds. Default: 0.0.
        resid_dropout: impl Into<Number> as Number,
    }

    /// Builds the parameters; the dropout probability of the base defaults to 0.0 here.
    ///
    /// # Errors
    ///
    /// As [`NNTransformerParams::from_fields`].
    pub fn build(self) -> Result<NNTransformerParams> {
        let fields = match self.fields.contains_key("vocab_size") {
            true => with_defaults(self.fields),
            false => self.fields,
        };
        NNTransformerParams::from_fields(&fields)
    }
}
