//! CONV: convolution and pooling blocks, then fully connected layers.

use candle_core::{Tensor, Var};
use nnx_params::{Activations, NNConvParams, Nets};

use super::Net;
use super::mlp::Mlp;
use crate::activation::activate;
use crate::error::{Error, Result};
use crate::init::Init;
use crate::inputs::rows;
use crate::kernels::conv2d::conv2d;
use crate::kernels::cpu::Cpu;
use crate::kernels::max_pool2d::max_pool2d;
use crate::mode::Mode;
use crate::param_builder::ParamBuilder;
use crate::parameters::Parameters;

/// Convolution, activation and max-pooling per block, then linear layers.
///
/// Parameters: `convs.{j}.weight [out, in, k, k]` and `convs.{j}.bias [out]`, then
/// `fcs.{i}.weight` and `fcs.{i}.bias`.
#[derive(Debug)]
pub(super) struct Conv {
    params: NNConvParams,
    activation: Activations,
    convs: Vec<ConvBlock>,
    fcs: Mlp,
    parameters: Parameters,
}

#[derive(Debug)]
struct ConvBlock {
    weight: Var,
    /// `[out]`, one number per channel.
    bias: Var,
}

impl Conv {
    /// Builds the net.
    ///
    /// # Errors
    /// When a layer has no activation, or a parameter cannot be made.
    pub(super) fn new(params: &NNConvParams, mut builder: ParamBuilder<'_>) -> Result<Self> {
        let activation = params.base().activation().ok_or_else(|| {
            Error::configuration("net `conv` needs an activation for its convolution blocks")
        })?;
        builder.module("convs");
        let kernel = params.kernel_size();
        let mut channels = params.in_channels();
        let mut convs = Vec::new();
        for (j, &next) in params.conv_channels().iter().enumerate() {
            let path = format!("convs.{j}");
            builder.module(&path);
            let fan_in = fan_in(channels, kernel)?;
            convs.push(ConvBlock {
                weight: builder.parameter(
                    format!("{path}.weight"),
                    &[next, channels, kernel, kernel],
                    Init::KaimingUniform { fan_in },
                )?,
                bias: builder.parameter(
                    format!("{path}.bias"),
                    &[next],
                    Init::FanInUniform { fan_in },
                )?,
            });
            channels = next;
        }
        Ok(Self {
            fcs: Mlp::new("fcs", params.flatten_dim(), params.base(), &mut builder)?,
            params: params.clone(),
            activation,
            convs,
            parameters: builder.finish()?,
        })
    }
}

/// Inputs that one output of a convolution sums over.
///
/// # Errors
/// When the number overflows.
pub(super) fn fan_in(channels: usize, kernel: usize) -> Result<usize> {
    kernel
        .checked_mul(kernel)
        .and_then(|area| area.checked_mul(channels))
        .ok_or_else(|| {
            Error::unsupported(format!(
                "kernels of `{channels}` channels and side `{kernel}` overflow"
            ))
        })
}

impl Net for Conv {
    fn kind(&self) -> Nets {
        Nets::Conv
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn forward(&self, inputs: &[Tensor], mode: &mut Mode<'_>) -> Result<Tensor> {
        let params = &self.params;
        let cpu = Cpu::new();
        let rows = rows(Nets::Conv, params.base().input_dim(), inputs)?;
        let (count, side) = (rows.dim(0)?, params.image_side());
        let mut xs = rows.reshape((count, params.in_channels(), side, side))?;
        for (j, block) in self.convs.iter().enumerate() {
            let weight = mode.value(&block.weight);
            let bias = mode.value(&block.bias);
            let placement = (params.padding(), params.stride());
            // The one activation that is applied in the pass that computes the convolution.
            let is_fused = self.activation == Activations::Relu;
            xs = conv2d(cpu, [&xs, &weight, &bias], placement, is_fused)?;
            mode.note(mode.noted(), &format!("convs.{j}"), "Conv2d", &xs);
            if !is_fused {
                xs = activate(self.activation, &xs)?;
            }
            xs = max_pool2d(cpu, &xs, params.pool_size())?;
        }
        self.fcs.forward(&xs.flatten_from(1)?, mode)
    }
}
