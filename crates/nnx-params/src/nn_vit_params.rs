//! The parameters of vision transformers.

use std::fmt;

use crate::fields::{Fields, PROBABILITY, setters, split_state};
use crate::nn_params::{self, base_setters};
use crate::{Error, NNParams, Number, Result, State, Value};

/// The parameters of a vision transformer's encoder.
///
/// ```
/// use nnx_params::NNViTParams;
///
/// let params = NNViTParams::builder()
///     .image_size(8)
///     .patch_size(4)
///     .d_model(8)
///     .n_layers(2)
///     .n_heads(2)
///     .build()?;
/// assert_eq!(params.base().input_dim(), 3 * 8 * 8);
/// assert_eq!(params.n_patches(), 4);
/// # Ok::<(), nnx_params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NNViTParams {
    base: NNParams,
    n_heads: usize,
    image_size: usize,
    patch_size: usize,
    d_model: usize,
    n_layers: usize,
    in_channels: usize,
    ffn_mult: usize,
    attn_dropout: Number,
    resid_dropout: Number,
}

const DEFAULT_IN_CHANNELS: usize = 3;
const DEFAULT_FFN_MULT: usize = 4;
/// The state keys of this class that `from_state` cannot do without.
const REQUIRED: &[&str] = &["image_size", "patch_size", "d_model", "n_layers"];
/// The other state keys of this class.
const OPTIONAL: &[&str] = &["in_channels", "ffn_mult", "attn_dropout", "resid_dropout"];

impl NNViTParams {
    /// The Python class.
    pub const CLASS: &'static str = "NNViTParams";

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
        "image_size",
        "patch_size",
        "d_model",
        "n_layers",
        "in_channels",
        "ffn_mult",
        "attn_dropout",
        "resid_dropout",
    ];

    /// Starts without any field.
    pub fn builder() -> NNViTParamsBuilder {
        NNViTParamsBuilder {
            fields: State::new(),
        }
    }

    /// Builds from the constructor's arguments, an enum being its text.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain; or the sizes do not
    /// fit each other.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let base = NNParams::base(&fields)?;
        let n_heads = base.n_heads().ok_or_else(|| {
            Error::invalid(Self::CLASS, "n_heads", "an integer > 0", &Value::None)
        })?;
        let params = Self {
            base,
            n_heads,
            image_size: fields.count("image_size", 1)?,
            patch_size: fields.count("patch_size", 1)?,
            d_model: fields.count("d_model", 1)?,
            n_layers: fields.count("n_layers", 1)?,
            in_channels: fields.count_or("in_channels", 1, DEFAULT_IN_CHANNELS)?,
            ffn_mult: fields.count_or("ffn_mult", 1, DEFAULT_FFN_MULT)?,
            attn_dropout: dropout(&fields, "attn_dropout")?,
            resid_dropout: dropout(&fields, "resid_dropout")?,
        };
        params.check_sizes()?;
        params.check_base(&fields)?;
        Ok(params)
    }

    fn check_sizes(&self) -> Result<()> {
        let (image_size, patch_size) = (self.image_size, self.patch_size);
        if image_size % patch_size != 0 {
            return Err(Error::inconsistent(
                Self::CLASS,
                "image_size",
                "divisible by `patch_size`",
                format!("`{image_size}` with patches of `{patch_size}`"),
            ));
        }
        let (d_model, n_heads) = (self.d_model, self.n_heads);
        if d_model % n_heads != 0 {
            return Err(Error::inconsistent(
                Self::CLASS,
                "d_model",
                "divisible by `n_heads`",
                format!("`{d_model}` with `{n_heads}` heads"),
            ));
        }
        Ok(())
    }

    /// Checks the fields that the base has and this net has no use for.
    fn check_base(&self, fields: &Fields<'_>) -> Result<()> {
        let pixels = pixels(self.in_channels, self.image_size);
        let domain = match pixels {
            Some(pixels) => format!("`in_channels * image_size²`, which is {pixels}"),
            None => "`in_channels * image_size²`, which exceeds 64 bits".to_owned(),
        };
        let (field, domain) = if pixels != Some(self.base.input_dim()) {
            ("input_dim", domain)
        } else if self.base.output_dim() != self.d_model {
            (
                "output_dim",
                format!("`d_model`, which is {}", self.d_model),
            )
        } else if self.base.hidden_dims().is_some_and(|dims| !dims.is_empty()) {
            (
                "hidden_dims",
                "empty, as there are no hidden layers".to_owned(),
            )
        } else if !self.base.dropout_prob().same_amount(0.0) {
            let domain = "0.0, as `attn_dropout` and `resid_dropout` are what drops values";
            ("dropout_prob", domain.to_owned())
        } else {
            return Ok(());
        };
        Err(Error::invalid(
            Self::CLASS,
            field,
            domain,
            fields.get(field),
        ))
    }

    /// Builds from what [`state`](Self::state) returns.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let required = [nn_params::REQUIRED, REQUIRED].concat();
        let optional = [nn_params::OPTIONAL, OPTIONAL].concat();
        let (mut known, unknown) = split_state(Self::CLASS, state, &required, &optional)?;
        nn_params::read_texts(Self::CLASS, &mut known)?;
        let mut params = Self::from_fields(&known)?;
        params.base = params.base.without_layer_lists().with_unknown(unknown);
        Ok(params)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = self.base.state();
        state.insert("image_size", self.image_size);
        state.insert("patch_size", self.patch_size);
        state.insert("d_model", self.d_model);
        state.insert("n_layers", self.n_layers);
        if self.in_channels != DEFAULT_IN_CHANNELS {
            state.insert("in_channels", self.in_channels);
        }
        if self.ffn_mult != DEFAULT_FFN_MULT {
            state.insert("ffn_mult", self.ffn_mult);
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

    /// The side of the square input image, in pixels.
    pub fn image_size(&self) -> usize {
        self.image_size
    }

    /// The side of a square patch, in pixels.
    pub fn patch_size(&self) -> usize {
        self.patch_size
    }

    /// The width of a patch's vector.
    pub fn d_model(&self) -> usize {
        self.d_model
    }

    /// The number of blocks.
    pub fn n_layers(&self) -> usize {
        self.n_layers
    }

    /// The channels of the input image.
    pub fn in_channels(&self) -> usize {
        self.in_channels
    }

    /// The width of the feed-forward layers, in multiples of `d_model`.
    pub fn ffn_mult(&self) -> usize {
        self.ffn_mult
    }

    /// The dropout probability of the attention weights, always a float.
    pub fn attn_dropout(&self) -> Number {
        self.attn_dropout
    }

    /// The dropout probability of what each block adds, always a float.
    pub fn resid_dropout(&self) -> Number {
        self.resid_dropout
    }

    /// The number of patches in an image; the encoder adds one class token to them.
    pub fn n_patches(&self) -> usize {
        (self.image_size / self.patch_size).saturating_pow(2)
    }
}

/// The number of values in an image, if it fits the platform's `usize`.
fn pixels(in_channels: usize, image_size: usize) -> Option<usize> {
    in_channels.checked_mul(image_size.checked_pow(2)?)
}

fn dropout(fields: &Fields<'_>, field: &str) -> Result<Number> {
    let given = fields.finite_or(field, &PROBABILITY, 0.0)?;
    Ok(Number::Float(given.as_f64()))
}

/// Writes Python's `str`.
impl fmt::Display for NNViTParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "[vit, image={}, patch={}, channels={}, d_model={}, layers={}, heads={}]",
            self.image_size,
            self.patch_size,
            self.in_channels,
            self.d_model,
            self.n_layers,
            self.n_heads
        )
    }
}

/// Collects the fields of [`NNViTParams`]; see [`NNViTParams::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct NNViTParamsBuilder {
    fields: State,
}

impl NNViTParamsBuilder {
    base_setters!();

    setters! {
        /// The number of values in one image. Default: `in_channels * image_size²`, the only
        /// value that is valid.
        input_dim: usize as usize,
        /// The number of values for each token. Default: `d_model`, the only value that is valid.
        output_dim: usize as usize,
        /// The side of the square input image, in pixels. There is no default.
        image_size: usize as usize,
        /// The side of a square patch, in pixels. There is no default.
        patch_size: usize as usize,
        /// The width of a patch's vector. There is no default.
        d_model: usize as usize,
        /// The number of blocks. There is no default.
        n_layers: usize as usize,
        /// The channels of the input image. Default: 3.
        in_channels: usize as usize,
        /// The width of the feed-forward layers, in multiples of `d_model`. Default: 4.
        ffn_mult: usize as usize,
        /// The dropout probability of the attention weights. Default: 0.0.
        attn_dropout: impl Into<Number> as Number,
        /// The dropout probability of what each block adds. Default: 0.0.
        resid_dropout: impl Into<Number> as Number,
    }

    /// Builds the parameters; the dropout probability of the base defaults to 0.0 here.
    ///
    /// # Errors
    ///
    /// As [`NNViTParams::from_fields`].
    pub fn build(self) -> Result<NNViTParams> {
        let count = |field: &str| {
            let value = self.fields.get(field)?;
            value.as_int().and_then(|int| usize::try_from(int).ok())
        };
        let mut defaults = State::from_iter([("dropout_prob", Value::Float(0.0))]);
        if let Some(image_size) = count("image_size") {
            let in_channels = count("in_channels").unwrap_or(DEFAULT_IN_CHANNELS);
            // Zero is refused below, and so is an image that is too large to count.
            let pixels = pixels(in_channels, image_size).filter(|pixels| *pixels > 0);
            defaults.insert("input_dim", pixels.unwrap_or(1));
        }
        if let Some(d_model) = count("d_model") {
            defaults.insert("output_dim", d_model);
        }
        NNViTParams::from_fields(&self.fields.followed_by(&defaults))
    }
}
