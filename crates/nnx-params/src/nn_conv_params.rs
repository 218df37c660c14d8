//! The parameters of convolutional nets.

use std::fmt;

use crate::fields::{Fields, literal, setters, split_state};
use crate::nn_params::{self, base_setters, counts};
use crate::python_text::repr;
use crate::{Error, NNParams, Result, State, Value};

/// The parameters of a net of convolution and pooling blocks followed by fully connected layers.
///
/// The input is a square image: `input_dim = in_channels * side²`.
///
/// ```
/// use nnx_params::NNConvParams;
///
/// let params = NNConvParams::builder(256, 3, [3, 4]).dropout_prob(0.0).build()?;
/// assert_eq!(params.image_side(), 16);
/// assert_eq!(params.spatial_sizes(), [6, 1]);
/// assert_eq!(params.flatten_dim(), 4);
/// # Ok::<(), nnx_params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NNConvParams {
    base: NNParams,
    conv_channels: Vec<usize>,
    in_channels: usize,
    kernel_size: usize,
    stride: usize,
    padding: usize,
    pool_size: usize,
    spatial_sizes: Vec<usize>,
}

/// The fields that a state leaves out at these values.
const DEFAULTS: [(&str, usize); 5] = [
    ("in_channels", 1),
    ("kernel_size", 5),
    ("stride", 1),
    ("padding", 0),
    ("pool_size", 2),
];

impl NNConvParams {
    /// The Python class.
    pub const CLASS: &'static str = "NNConvParams";

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
        "conv_channels",
        "in_channels",
        "kernel_size",
        "stride",
        "padding",
        "pool_size",
    ];

    /// Starts from the sizes of input and output and the output channels of each block.
    pub fn builder(
        input_dim: usize,
        output_dim: usize,
        conv_channels: impl IntoIterator<Item = usize>,
    ) -> NNConvParamsBuilder {
        let mut fields = State::from_iter([("input_dim", input_dim), ("output_dim", output_dim)]);
        let conv_channels: Vec<_> = conv_channels.into_iter().collect();
        fields.insert("conv_channels", conv_channels);
        NNConvParamsBuilder { fields }
    }

    /// Builds from the constructor's arguments, an enum being its text.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain; the input is not a
    /// square image; or the blocks leave no pixel of it.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let base = NNParams::base(&fields)?;
        if base.activation().is_none() {
            let domain = "set for the convolution blocks";
            return Err(Error::invalid(
                Self::CLASS,
                "activation",
                domain,
                &Value::None,
            ));
        }
        let given = fields.required("conv_channels")?;
        let conv_channels = counts(Self::CLASS, "conv_channels", given)?;
        if conv_channels.is_empty() {
            let domain = "a list of integers > 0 that is not empty";
            return Err(Error::invalid(Self::CLASS, "conv_channels", domain, given));
        }
        let [in_channels, kernel_size, stride, padding, pool_size] =
            DEFAULTS.map(|(field, default)| {
                fields.count_or(field, usize::from(field != "padding"), default)
            });
        let mut params = Self {
            base,
            conv_channels,
            in_channels: in_channels?,
            kernel_size: kernel_size?,
            stride: stride?,
            padding: padding?,
            pool_size: pool_size?,
            spatial_sizes: Vec::new(),
        };
        params.check_image()?;
        params.spatial_sizes = params.checked_sizes()?;
        Ok(params)
    }

    fn check_image(&self) -> Result<()> {
        let (input_dim, in_channels) = (self.base.input_dim(), self.in_channels);
        if input_dim % in_channels != 0 {
            return Err(Error::inconsistent(
                Self::CLASS,
                "input_dim",
                "divisible by `in_channels`",
                format!("`{input_dim}` with `{in_channels}` channels"),
            ));
        }
        let pixels = input_dim / in_channels;
        if pixels.isqrt().pow(2) != pixels {
            return Err(Error::inconsistent(
                Self::CLASS,
                "input_dim",
                "a square image, `input_dim / in_channels` being a perfect square",
                format!("`{pixels}` pixels"),
            ));
        }
        Ok(())
    }

    /// The side of the image after each block: convolution, then pooling, both rounding down.
    fn checked_sizes(&self) -> Result<Vec<usize>> {
        // 128 bits hold every sum of these 64-bit fields.
        let [kernel_size, stride, padding, pool_size] =
            [self.kernel_size, self.stride, self.padding, self.pool_size].map(|x| x as i128);
        let mut side = self.image_side() as i128;
        let mut sizes = Vec::with_capacity(self.conv_channels.len());
        for block in 0..self.conv_channels.len() {
            let convolved = (side + 2 * padding - kernel_size).div_euclid(stride) + 1;
            side = convolved.div_euclid(pool_size);
            match usize::try_from(side) {
                Ok(size) if size >= 1 => sizes.push(size),
                _ => {
                    return Err(Error::inconsistent(
                        Self::CLASS,
                        "conv_channels",
                        "blocks that leave at least one pixel",
                        format!(
                            "a side of `{side}` after block {block} of an image of side `{}`",
                            self.image_side()
                        ),
                    ));
                }
            }
        }
        Ok(sizes)
    }

    /// Builds from what [`state`](Self::state) returns.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let required = [nn_params::REQUIRED, &["conv_channels"]].concat();
        let optional = [nn_params::OPTIONAL, &DEFAULTS.map(|(field, _)| field)].concat();
        let (mut known, unknown) = split_state(Self::CLASS, state, &required, &optional)?;
        nn_params::read_texts(Self::CLASS, &mut known)?;
        if let Some(text) = known.get("conv_channels") {
            let conv_channels = literal(Self::CLASS, "conv_channels", text)?;
            known.insert("conv_channels", conv_channels);
        }
        let mut params = Self::from_fields(&known)?;
        params.base = params.base.with_unknown(unknown);
        Ok(params)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = self.base.state();
        state.insert("conv_channels", repr(&self.conv_channels.clone().into()));
        for ((field, default), value) in DEFAULTS.into_iter().zip(self.values()) {
            if value != default {
                state.insert(field, value);
            }
        }
        state
    }

    /// The values of the fields of `DEFAULTS`.
    fn values(&self) -> [usize; 5] {
        [
            self.in_channels,
            self.kernel_size,
            self.stride,
            self.padding,
            self.pool_size,
        ]
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

    /// The output channels of each block.
    pub fn conv_channels(&self) -> &[usize] {
        &self.conv_channels
    }

    /// The channels of the input image.
    pub fn in_channels(&self) -> usize {
        self.in_channels
    }

    /// The side of the convolution kernels, in pixels.
    pub fn kernel_size(&self) -> usize {
        self.kernel_size
    }

    /// The step of the convolutions, in pixels.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The zeros around the image before each convolution, in pixels on each side.
    pub fn padding(&self) -> usize {
        self.padding
    }

    /// The side of the pooling windows, in pixels.
    pub fn pool_size(&self) -> usize {
        self.pool_size
    }

    /// The side of the input image, in pixels.
    pub fn image_side(&self) -> usize {
        (self.base.input_dim() / self.in_channels).isqrt()
    }

    /// The side of the image after each block, in pixels.
    pub fn spatial_sizes(&self) -> &[usize] {
        &self.spatial_sizes
    }

    /// The number of values that enter the first fully connected layer; a number beyond the
    /// platform's `usize` is cut to the largest one.
    pub fn flatten_dim(&self) -> usize {
        let side = self.spatial_sizes.last().copied().unwrap_or_default();
        let channels = self.conv_channels.last().copied().unwrap_or_default();
        channels.saturating_mul(side.saturating_mul(side))
    }
}

/// Writes Python's `str`.
impl fmt::Display for NNConvParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.write_str(Self::CLASS, f)?;
        write!(f, ", conv_channels={:?}", self.conv_channels)?;
        for ((field, _), value) in DEFAULTS.into_iter().zip(self.values()) {
            write!(f, ", {field}={value}")?;
        }
        f.write_str(")")
    }
}

/// Collects the fields of [`NNConvParams`]; see [`NNConvParams::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct NNConvParamsBuilder {
    fields: State,
}

impl NNConvParamsBuilder {
    base_setters!();

    setters! {
        /// The channels of the input image. Default: 1.
        in_channels: usize as usize,
        /// The side of the convolution kernels, in pixels. Default: 5.
        kernel_size: usize as usize,
        /// The step of the convolutions, in pixels. Default: 1.
        stride: usize as usize,
        /// The zeros around the image before each convolution, in pixels on each side. Default: 0.
        padding: usize as usize,
        /// The side of the pooling windows, in pixels. Default: 2.
        pool_size: usize as usize,
    }

    /// Builds the parameters.
    ///
    /// # Errors
    ///
    /// As [`NNConvParams::from_fields`].
    pub fn build(self) -> Result<NNConvParams> {
        NNConvParams::from_fields(&self.fields)
    }
}
