//! What all nets share, and which configuration makes which net.

mod attention;
mod block;
mod conv;
mod feed_fwd;
mod feed_fwd_moe;
mod graph;
mod graph_att;
mod graph_conv;
mod graph_sage;
mod hidden;
mod input;
mod mlp;
mod mode;
mod rms_norm;
mod swiglu;
mod transformer;
mod vit;

use std::fmt::Debug;

use candle_core::Tensor;
use nnx_params::{NetDescriptor, NetParams, Nets};

use crate::error::{Error, Result};
use crate::parameters::{Builder, Parameters};
use conv::Conv;
use feed_fwd::FeedFwd;
use feed_fwd_moe::FeedFwdMoE;
use graph_att::GraphAtt;
use graph_conv::GraphConv;
use graph_sage::GraphSage;
pub use input::Inputs;
pub(crate) use input::dtype_name;
pub use mode::{Mode, Trace};
pub use transformer::KeyValueCache;
use transformer::Transformer;
use vit::Vit;

/// A network: parameters with names, and a computation.
pub trait Net: Debug + Send + Sync {
    /// Which net it is.
    fn kind(&self) -> Nets;

    /// The parameters, in the names and the order of Python's state dict.
    fn parameters(&self) -> &Parameters;

    /// Runs the net on its positional arguments, which lie on the device of the parameters; see
    /// [`Inputs`] for what each net takes.
    ///
    /// # Errors
    /// When the arguments are not what the net takes, or the computation fails.
    fn forward(&self, inputs: &[Tensor], mode: &mut Mode<'_>) -> Result<Tensor>;

    /// [`forward`](Self::forward), and how unevenly each layer of experts was used: Python's
    /// `last_aux_loss` of each, a scalar that is 1 where all experts are used alike.
    ///
    /// A net without experts gives none.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    fn forward_balanced(
        &self,
        inputs: &[Tensor],
        mode: &mut Mode<'_>,
    ) -> Result<(Tensor, Vec<Tensor>)> {
        Ok((self.forward(inputs, mode)?, Vec::new()))
    }

    /// The logits of tokens that follow those of the cache, in evaluation mode.
    ///
    /// # Errors
    /// When the net is no transformer, the tokens are not what it takes, or the cache and they are
    /// longer together than it can look back.
    fn forward_with_cache(&self, tokens: &Tensor, cache: &mut KeyValueCache) -> Result<Tensor> {
        let (_, _) = (tokens, cache);
        Err(Error::unsupported(format!(
            "net `{}` has no cache of keys and values, only `{}` has",
            self.kind(),
            Nets::Transformer
        )))
    }
}

/// Builds a net.
///
/// # Errors
/// When kind and parameters do not belong together, the kind is not one of this version, or a
/// parameter cannot be made.
pub(crate) fn build(kind: Nets, params: &NetParams, builder: Builder<'_>) -> Result<Box<dyn Net>> {
    let (expected, found) = (kind.params_class(), params.class());
    if found != expected {
        return Err(Error::configuration(format!(
            "net `{kind}` needs `{expected}`, got `{found}`"
        )));
    }
    Ok(match (kind, params) {
        (Nets::FeedFwd, NetParams::Base(params)) => Box::new(FeedFwd::new(params, builder)?),
        (Nets::GraphAtt, NetParams::Base(params)) => Box::new(GraphAtt::new(params, builder)?),
        (Nets::GraphConv, NetParams::Base(params)) => Box::new(GraphConv::new(params, builder)?),
        (Nets::GraphSage, NetParams::Base(params)) => Box::new(GraphSage::new(params, builder)?),
        (Nets::FeedFwdMoe, NetParams::MoE(params)) => Box::new(FeedFwdMoE::new(params, builder)?),
        (Nets::Conv, NetParams::Conv(params)) => Box::new(Conv::new(params, builder)?),
        (Nets::Transformer, NetParams::Transformer(params)) => {
            Box::new(Transformer::new(params, builder)?)
        }
        (Nets::Vit, NetParams::ViT(params)) => Box::new(Vit::new(params, builder)?),
        _ => {
            return Err(Error::unsupported(format!(
                "net `{kind}` cannot run in this version"
            )));
        }
    })
}

/// The built-in net that a descriptor names.
///
/// # Errors
/// When it names none, or one that only Python code can build.
pub(crate) fn kind(descriptor: Option<&NetDescriptor>) -> Result<Nets> {
    match descriptor {
        Some(NetDescriptor::Net(kind)) => Ok(*kind),
        Some(NetDescriptor::Registered(spec)) => Err(Error::unsupported(format!(
            "net `{}` is built by Python code registered under that name",
            spec.id()
        ))),
        Some(NetDescriptor::Runtime(module)) => Err(Error::unsupported(format!(
            "net `{}` is a Python module that no configuration can rebuild",
            module.module()
        ))),
        Some(_) => Err(Error::unsupported(
            "the model parameters name a net of a kind that this version does not know",
        )),
        None => Err(Error::configuration(
            "the model parameters name no net, one of `Nets` is needed",
        )),
    }
}
