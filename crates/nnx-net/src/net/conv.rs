//! CONV: convolution and pooling blocks, then fully connected layers.

use candle_core::{D, Tensor, Var};
use nnx_params::{Activations, NNConvParams, Nets};

use super::Net;
use super::mlp::Mlp;
use crate::activation::activate;
use crate::error::{Error, Result};
use crate::init::Init;
use crate::inputs::rows;
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
        let rows = rows(Nets::Conv, params.base().input_dim(), inputs)?;
        let (count, side) = (rows.dim(0)?, params.image_side());
        let mut xs = rows.reshape((count, params.in_channels(), side, side))?;
        for (j, block) in self.convs.iter().enumerate() {
            let weight = mode.value(&block.weight);
            let bias = mode.value(&block.bias).reshape((1, (), 1, 1))?;
            xs = xs.conv2d(&weight, params.padding(), params.stride(), 1, 1)?;
            xs = xs.broadcast_add(&bias)?;
            mode.note(mode.noted(), &format!("convs.{j}"), "Conv2d", &xs);
            xs = activate(self.activation, &xs)?;
            xs = if mode.is_training() {
                max_pool(&xs, params.pool_size())?
            } else {
                max_pool_without_gradient(&xs, params.pool_size())?
            };
        }
        self.fcs.forward(&xs.flatten_from(1)?, mode)
    }
}

/// The largest element of each square of `size`, without overlap; elements at the edges that do not
/// fill a square are ignored. NaN counts as larger than every number, and the gradient goes to the
/// first of equal elements.
///
/// candle's pooling ignores NaN, and distributes the gradient over equal elements.
fn max_pool(xs: &Tensor, size: usize) -> Result<Tensor> {
    let (count, channels, height, width) = xs.dims4()?;
    let (rows, columns) = (height / size, width / size);
    let squares = xs
        .narrow(2, 0, rows * size)?
        .narrow(3, 0, columns * size)?
        .contiguous()?
        .reshape((count * channels, rows, size, columns, size))?
        .transpose(2, 3)?
        .contiguous()?
        .reshape((count * channels * rows * columns, size * size))?;
    let values = squares.detach();
    let infinite = Tensor::full(f32::INFINITY, values.shape(), values.device())?;
    let keys = values.ne(&values)?.where_cond(&infinite, &values)?;
    let largest = keys.argmax_keepdim(D::Minus1)?;
    let largest = squares.gather(&largest, D::Minus1)?;
    Ok(largest.reshape((count, channels, rows, columns))?)
}

/// [`max_pool`] in one pass, whose gradient would be candle's.
fn max_pool_without_gradient(xs: &Tensor, size: usize) -> Result<Tensor> {
    // The sum is finite only if no element is NaN, and then candle's pooling is correct.
    let sum: f32 = xs.sum_all()?.to_scalar()?;
    if sum.is_finite() {
        Ok(xs.max_pool2d(size)?)
    } else {
        max_pool(xs, size)
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};

    use super::*;

    #[test]
    fn pooling_gives_the_gradient_of_torch() {
        // F.max_pool2d(x, 2) and the gradient of (y * torch.tensor([[1., 2], [3, 4]])).sum(): the
        // whole gradient goes to the first of equal elements, and none to what fills no square.
        let nan = f32::NAN;
        let xs = [
            [1.0, 2.0, 3.0, 3.0, 9.0],
            [2.0, 2.0, 3.0, 3.0, 9.0],
            [0.0, -1.0, nan, 4.0, 9.0],
            [-3.0, -4.0, 5.0, 6.0, 9.0],
            [9.0, 9.0, 9.0, 9.0, 9.0],
        ];
        let xs = Var::new(&[[xs]], &Device::Cpu).unwrap();
        let ys = max_pool(xs.as_tensor(), 2).unwrap();
        let found = ys.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        assert_eq!(format!("{found:?}"), "[2.0, 3.0, 0.0, NaN]");
        let weights = Tensor::new(&[[[[1_f32, 2.0], [3.0, 4.0]]]], &Device::Cpu).unwrap();
        let store = (ys * weights).unwrap().sum_all().unwrap().backward();
        let store = store.unwrap();
        let gradient = store.get(xs.as_tensor()).unwrap().flatten_to(2).unwrap();
        let mut expected = [[0.0; 5]; 5];
        for (row, column, value) in [(0, 1, 1.0), (0, 2, 2.0), (2, 0, 3.0), (2, 2, 4.0)] {
            expected[row][column] = value;
        }
        assert_eq!(gradient.to_vec2::<f32>().unwrap(), expected);
    }
}
