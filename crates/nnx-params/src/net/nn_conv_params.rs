//! The parameters of convolutional nets.

use std::fmt;

use crate::class::{Arguments, count, defaulted, literal, python_class, required, state_methods};
use crate::error::{Error, Result};
use crate::net::nn_params::{self, NNParams, base_setters, counts};
use crate::value::{State, Value};

python_class! {
    class {
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
        NNConvParams { base: NNParams } in "nnx.nn.params.nn_conv_params";
        errors: "the input is not a square image; or the blocks leave no pixel of it";
        required: nn_params::REQUIRED, &["conv_channels"];
        check head: check_activation;
        check: NNConvParams::check;
        read state: read_state;
        cached: spatial_sizes: Vec<usize>;
    }
    fields {
        /// The output channels of each block.
        conv_channels: Vec<usize> => &[usize] = required(channels).written_as_text();
        /// The channels of the input image.
        in_channels: usize => usize = defaulted(count::<1>, 1), set usize, "Default: 1.";
        /// The side of the convolution kernels, in pixels.
        kernel_size: usize => usize = defaulted(count::<1>, 5), set usize, "Default: 5.";
        /// The step of the convolutions, in pixels.
        stride: usize => usize = defaulted(count::<1>, 1), set usize, "Default: 1.";
        /// The zeros around the image before each convolution, in pixels on each side.
        padding: usize => usize = defaulted(count::<0>, 0), set usize, "Default: 0.";
        /// The side of the pooling windows, in pixels.
        pool_size: usize => usize = defaulted(count::<1>, 2), set usize, "Default: 2.";
    }
    builder {
        /// Starts from the sizes of input and output and the output channels of each block.
        NNConvParamsBuilder for NNConvParams(
            input_dim: usize, output_dim: usize; each conv_channels: usize
        );
    }
}

impl NNConvParamsBuilder {
    base_setters!();
}

fn check_activation(base: &NNParams, arguments: &Arguments<'_>) -> Result<()> {
    if base.activation().is_none() {
        return Err(arguments.invalid("activation", "set for the convolution blocks"));
    }
    Ok(())
}

fn channels(class: &'static str, field: &str, value: &Value) -> Result<Vec<usize>> {
    let channels = counts(class, field, value)?;
    if channels.is_empty() {
        let domain = "a list of integers > 0 that is not empty";
        return Err(Error::invalid(class, field, domain, value));
    }
    Ok(channels)
}

fn read_state(known: &mut State) -> Result<()> {
    nn_params::read_texts(NNConvParams::CLASS, known)?;
    if let Some(text) = known.get("conv_channels") {
        let conv_channels = literal(NNConvParams::CLASS, "conv_channels", text)?;
        known.insert("conv_channels", conv_channels);
    }
    Ok(())
}

impl NNConvParams {
    state_methods!();

    /// The fields that every net has.
    pub fn base(&self) -> &NNParams {
        &self.base
    }

    fn check(mut self, _: &Arguments<'_>) -> Result<Self> {
        self.check_image()?;
        self.spatial_sizes = self.checked_sizes()?;
        Ok(self)
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
        let Self {
            in_channels,
            kernel_size,
            stride,
            padding,
            pool_size,
            ..
        } = self;
        write!(
            f,
            ", in_channels={in_channels}, kernel_size={kernel_size}, stride={stride}, \
             padding={padding}, pool_size={pool_size}"
        )?;
        f.write_str(")")
    }
}
