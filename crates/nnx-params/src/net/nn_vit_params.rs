//! The parameters of vision transformers.

use std::fmt;

use crate::class::{
    Arguments, PROBABILITY, count, defaulted, finite, from_state, python_class, required, setters,
    state_methods,
};
use crate::error::{Error, Result};
use crate::net::nn_params::{self, NNParams, base_setters, check_heads};
use crate::number::Number;
use crate::value::{State, Value};

const DEFAULT_IN_CHANNELS: usize = 3;

python_class! {
    class {
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
        NNViTParams { base: NNParams } in "nnx.nn.params.nn_vit_params";
        errors: "the sizes do not fit each other";
        required: nn_params::REQUIRED, &["image_size", "patch_size", "d_model", "n_layers"];
        check head: check_heads;
        check: NNViTParams::check;
        read state: |known| nn_params::read_texts(NNViTParams::CLASS, known);
    }
    fields {
        /// The side of the square input image, in pixels.
        image_size: usize => usize = required(count::<1>), set usize, "There is no default.";
        /// The side of a square patch, in pixels.
        patch_size: usize => usize = required(count::<1>), set usize, "There is no default.";
        /// The width of a patch's vector.
        d_model: usize => usize = required(count::<1>), set usize, "There is no default.";
        /// The number of blocks.
        n_layers: usize => usize = required(count::<1>), set usize, "There is no default.";
        /// The channels of the input image.
        in_channels: usize => usize = defaulted(count::<1>, DEFAULT_IN_CHANNELS),
            set usize, "Default: 3.";
        /// The width of the feed-forward layers, in multiples of `d_model`.
        ffn_mult: usize => usize = defaulted(count::<1>, 4), set usize, "Default: 4.";
        /// The dropout probability of the attention weights, always a float.
        attn_dropout: Number => Number = defaulted(dropout, 0.0.into()),
            set impl Into<Number> as Number, "Default: 0.0.";
        /// The dropout probability of the output that each block adds, always a float.
        resid_dropout: Number => Number = defaulted(dropout, 0.0.into()),
            set impl Into<Number> as Number, "Default: 0.0.";
    }
    builder {
        /// Starts without any field. `build` sets the dropout probability of the base to 0.0.
        NNViTParamsBuilder for NNViTParams();
        completes: with_defaults;
    }
}

impl NNViTParamsBuilder {
    base_setters!();

    setters! {
        [
            /// The number of values in one image.
        ] input_dim ["input_dim"]
        set usize, "Default: `in_channels * image_size²`, the only value that is valid."
    }
    setters! {
        [
            /// The number of values for each token.
        ] output_dim ["output_dim"]
        set usize, "Default: `d_model`, the only value that is valid."
    }
}

/// Fills in the sizes and the dropout probability of the base, which follow from the others.
fn with_defaults(fields: State) -> State {
    let count = |field: &str| {
        let value = fields.get(field)?;
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
    fields.followed_by(&defaults)
}

/// A probability as Python's `float()` converts it.
fn dropout(class: &'static str, field: &str, value: &Value) -> Result<Number> {
    finite(class, field, value, &PROBABILITY).map(|given| Number::Float(given.as_f64()))
}

impl NNViTParams {
    /// Builds from the result of [`state`](Self::state).
    ///
    /// Python drops the lists for single hidden layers, of which this net has none.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let mut params: Self = from_state(state)?;
        params.base = params.base.without_layer_lists();
        Ok(params)
    }

    state_methods!(state);

    /// The fields that every net has.
    pub fn base(&self) -> &NNParams {
        &self.base
    }

    fn check(self, arguments: &Arguments<'_>) -> Result<Self> {
        self.check_sizes()?;
        self.check_base(arguments)?;
        Ok(self)
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
        let (d_model, n_heads) = (self.d_model, self.n_heads());
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
    fn check_base(&self, arguments: &Arguments<'_>) -> Result<()> {
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
        Err(arguments.invalid(field, domain))
    }

    /// The number of attention heads.
    pub fn n_heads(&self) -> usize {
        self.base.checked_heads()
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
            self.n_heads()
        )
    }
}
