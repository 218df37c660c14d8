//! What all nets share, and which configuration makes which net.

mod feed_fwd;

use std::fmt::Debug;

use candle_core::{DType, Tensor, Var};
use nnx_params::{
    NNConvParams, NNMoEParams, NNParams, NNTransformerParams, NNViTParams, NetDescriptor,
    NetParams, Nets,
};

use crate::error::{Error, Result};
use crate::parameters::{Builder, Parameters};
use crate::rng::Generator;
use feed_fwd::FeedFwd;

/// A network: parameters with names, and a computation.
pub trait Net: Debug + Send + Sync {
    /// The parameters, in the names and the order of Python's state dict.
    fn parameters(&self) -> &Parameters;

    /// Runs the net on its positional arguments, which lie on the device of the parameters.
    ///
    /// # Errors
    /// When the arguments are not what the net takes, or the computation fails.
    fn forward(&self, inputs: &[Tensor], mode: &mut Mode<'_>) -> Result<Tensor>;
}

/// What a forward pass is for.
#[derive(Debug)]
pub enum Mode<'a> {
    /// Using the net: no dropout, and no gradients of the parameters are recorded.
    Eval,
    /// Training it: dropout draws from this generator, and gradients of the parameters can be
    /// computed.
    Train(&'a mut Generator),
}

impl Mode<'_> {
    /// The value of a parameter, tied to it only where gradients are wanted.
    pub(crate) fn value(&self, parameter: &Var) -> Tensor {
        match self {
            Self::Eval => parameter.as_detached_tensor(),
            Self::Train(_) => parameter.as_tensor().clone(),
        }
    }
}

/// Builds a net.
///
/// # Errors
/// When kind and parameters do not belong together, the kind is not one of this version, or a
/// parameter cannot be made.
pub(crate) fn build(kind: Nets, params: &NetParams, builder: Builder<'_>) -> Result<Box<dyn Net>> {
    let (expected, found) = (params_class(kind), params.class());
    if found != expected {
        return Err(Error::configuration(format!(
            "net `{kind}` needs `{expected}`, got `{found}`"
        )));
    }
    match (kind, params) {
        (Nets::FeedFwd, NetParams::Base(params)) => Ok(Box::new(FeedFwd::new(params, builder)?)),
        _ => Err(Error::unsupported(format!(
            "net `{kind}` cannot run in this version, only `{}` can",
            Nets::FeedFwd
        ))),
    }
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

/// The class that configures a net, by its Python name.
fn params_class(kind: Nets) -> &'static str {
    match kind {
        Nets::Conv => NNConvParams::CLASS,
        Nets::FeedFwdMoe => NNMoEParams::CLASS,
        Nets::Transformer => NNTransformerParams::CLASS,
        Nets::Vit => NNViTParams::CLASS,
        _ => NNParams::CLASS,
    }
}

/// PyTorch's name of a dtype.
fn dtype_name(dtype: DType) -> &'static str {
    match dtype {
        DType::U8 => "uint8",
        DType::U32 => "uint32",
        DType::I16 => "int16",
        DType::I32 => "int32",
        DType::I64 => "int64",
        DType::BF16 => "bfloat16",
        DType::F16 => "float16",
        DType::F32 => "float32",
        DType::F64 => "float64",
        DType::F8E4M3 => "float8_e4m3fn",
        // candle's own names for what PyTorch does not have in this form.
        other => other.as_str(),
    }
}
