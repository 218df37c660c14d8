//! The kinds of nets, and which configuration makes which net.

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
mod mlp;
mod network;
mod rms_norm;
mod rope;
mod swiglu;
mod top_k;
mod transformer;
mod vit;

use nnx_params::{NetDescriptor, NetParams, Nets};

use self::conv::Conv;
use self::feed_fwd::FeedFwd;
use self::feed_fwd_moe::FeedFwdMoE;
use self::graph_att::GraphAtt;
use self::graph_conv::GraphConv;
use self::graph_sage::GraphSage;
pub use self::network::Net;
use self::transformer::Transformer;
use self::vit::Vit;
use crate::error::{Error, Result};
use crate::param_builder::ParamBuilder;

/// Builds a net.
///
/// # Errors
/// When the parameters are of another class than the kind needs, this version does not have the kind,
/// or a parameter cannot be made.
pub(crate) fn build(
    kind: Nets,
    params: &NetParams,
    builder: ParamBuilder<'_>,
) -> Result<Box<dyn Net>> {
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
                "this version does not have the net `{kind}`"
            )));
        }
    })
}

/// The built-in net that a descriptor names.
///
/// # Errors
/// When it names no net, or one that only Python code can build.
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
            "the model parameters name a kind of net that this version does not know",
        )),
        None => Err(Error::configuration(
            "expected one of `Nets` as the net of the model parameters, found none",
        )),
    }
}
