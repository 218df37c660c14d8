//! How samples are read from a file.

use nnx_params::NetParams;

/// How a [`DataFile`](crate::DataFile) reads a file.
///
/// ```
/// use nnx_train::SampleOptions;
///
/// let options = SampleOptions::new().targets(["species"]).finite(true);
/// assert!(options.inputs.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SampleOptions {
    /// The columns of a CSV file that are the targets, by name or by number from 0. Default: the last
    /// one.
    pub targets: Vec<String>,
    /// The columns of a CSV file that are the inputs. Default: all others.
    pub inputs: Vec<String>,
    /// Whether inputs that are NaN or infinite are an error, as they are for NNx's data sets. Default:
    /// no.
    pub finite: bool,
    /// The tokens of a window of an array of one axis, which is one long text. Default: such an array
    /// is an error.
    pub window: Option<usize>,
    /// The channels of images: 1 for grey, 3 for colour. Default: as the images have them.
    pub channels: Option<usize>,
}

impl SampleOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The defaults for a net: images get the channels that it takes, and windows its longest length.
    pub fn for_net(params: &NetParams) -> Self {
        let defaults = Self::new();
        match params {
            NetParams::Conv(params) => defaults.channels(params.in_channels()),
            NetParams::ViT(params) => defaults.channels(params.in_channels()),
            NetParams::Transformer(params) => defaults.window(params.max_seq_len()),
            _ => defaults,
        }
    }

    /// Sets [`targets`](Self::targets).
    #[must_use]
    pub fn targets<T: Into<String>>(mut self, columns: impl IntoIterator<Item = T>) -> Self {
        self.targets = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`inputs`](Self::inputs).
    #[must_use]
    pub fn inputs<T: Into<String>>(mut self, columns: impl IntoIterator<Item = T>) -> Self {
        self.inputs = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`finite`](Self::finite).
    #[must_use]
    pub fn finite(mut self, finite: bool) -> Self {
        self.finite = finite;
        self
    }

    /// Sets [`window`](Self::window).
    #[must_use]
    pub fn window(mut self, tokens: impl Into<Option<usize>>) -> Self {
        self.window = tokens.into();
        self
    }

    /// Sets [`channels`](Self::channels).
    #[must_use]
    pub fn channels(mut self, channels: impl Into<Option<usize>>) -> Self {
        self.channels = channels.into();
        self
    }
}
