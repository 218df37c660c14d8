//! The nets that are measured.

use std::fmt;

use nnx_params::{
    Activations, NNConvParams, NNMoEParams, NNParams, NNTransformerParams, NNViTParams, NetParams,
    Nets,
};

use crate::Result;

/// The tokens that the transformer knows.
pub(crate) const VOCABULARY: usize = 8192;
/// The numbers and the classes of a graph's nodes.
pub(crate) const FEATURES: usize = 128;
pub(crate) const CLASSES: usize = 16;

/// The kind and the parameters of the net of that name.
///
/// # Errors
/// When there is no such net, or its parameters are refused.
pub(crate) fn params(name: &str) -> Result<(Nets, NetParams)> {
    if let Some(convolution) = Convolution::all().find(|one| one.name() == name) {
        return Ok((Nets::Conv, convolution.params()?));
    }
    Ok(match name {
        "ff" => {
            let params = NNParams::builder(784, 10).hidden_dims([512, 512]);
            let params = params.activation(Activations::Relu).dropout_prob(0.0);
            (Nets::FeedFwd, params.build()?.into())
        }
        "transformer" => {
            let params = NNTransformerParams::builder()
                .vocab_size(VOCABULARY)
                .d_model(256)
                .n_heads(8)
                .n_layers(4)
                .max_seq_len(256)
                .build()?;
            (Nets::Transformer, params.into())
        }
        "vit" => {
            let params = NNViTParams::builder()
                .image_size(224)
                .patch_size(16)
                .d_model(192)
                .n_layers(4)
                .n_heads(3);
            (Nets::Vit, params.build()?.into())
        }
        "moe" => {
            let params = NNMoEParams::builder(784, 10, 8)
                .hidden_dims([512, 512])
                .activation(Activations::Relu)
                .dropout_prob(0.0);
            (Nets::FeedFwdMoe, params.build()?.into())
        }
        "gcn" => (Nets::GraphConv, graph(None, 128)?),
        "sage" => (Nets::GraphSage, graph(None, 128)?),
        "gat" => (Nets::GraphAtt, graph(Some(4), 32)?),
        _ => return Err(format!("there is no model `{name}`").into()),
    })
}

fn graph(heads: Option<usize>, hidden: usize) -> Result<NetParams> {
    let params = NNParams::builder(FEATURES, CLASSES).hidden_dims([hidden]);
    let params = params.activation(Activations::Relu).dropout_prob(0.0);
    let params = match heads {
        Some(heads) => params.n_heads(heads),
        None => params,
    };
    Ok(params.build()?.into())
}

/// The convolutions of a net.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convolution {
    kernel: usize,
    padding: usize,
    stride: usize,
}

impl Default for Convolution {
    fn default() -> Self {
        Self {
            kernel: 5,
            padding: 0,
            stride: 1,
        }
    }
}

impl Convolution {
    /// All that are measured.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let sides = [
            (5, 0, 1),
            (5, 1, 1),
            (5, 0, 2),
            (5, 1, 2),
            (3, 0, 1),
            (3, 1, 1),
            (3, 0, 2),
            (3, 1, 2),
        ];
        sides.into_iter().map(|(kernel, padding, stride)| Self {
            kernel,
            padding,
            stride,
        })
    }

    /// The name of the net.
    pub(crate) fn name(self) -> String {
        format!("conv_k{}_p{}_s{}", self.kernel, self.padding, self.stride)
    }

    fn params(self) -> Result<NetParams> {
        let params = NNConvParams::builder(3 * 32 * 32, 10, [16, 32])
            .in_channels(3)
            .kernel_size(self.kernel)
            .padding(self.padding)
            .stride(self.stride)
            .hidden_dims([128])
            .activation(Activations::Relu)
            .dropout_prob(0.0);
        Ok(params.build()?.into())
    }
}

impl fmt::Display for Convolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "kernel {}, padding {}, stride {}",
            self.kernel, self.padding, self.stride
        )
    }
}
