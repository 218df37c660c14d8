//! The activation functions, as PyTorch defines them, NaN and infinities included.
//!
//! Every function can be differentiated and runs on every device.

use candle_core::Tensor;
use nnx_params::Activations;

use crate::error::Result;
use crate::kernels::cpu::Cpu;
use crate::kernels::relu::relu;
use crate::kernels::softmax::softmax;

/// Applies an activation; softmax runs over the last axis.
///
/// # Errors
/// When candle fails, for example on a dtype that is not a float.
pub fn activate(activation: Activations, xs: &Tensor) -> Result<Tensor> {
    Ok(match activation {
        Activations::Elu => elu(xs, 1.0, 1.0),
        Activations::Selu => elu(xs, SELU_ALPHA, SELU_SCALE),
        Activations::Tanh => xs.tanh(),
        Activations::Relu => relu(Cpu::new(), xs),
        Activations::Softmax => softmax(Cpu::new(), xs),
        Activations::Sigmoid => candle_nn::ops::sigmoid(xs),
        Activations::Softplus => softplus(xs),
        Activations::LeakyRelu => leaky_relu(xs),
    }?)
}

type Candle = candle_core::Result<Tensor>;

/// `scale * x` above zero, `scale * alpha * (e^x - 1)` at and below it.
fn elu(xs: &Tensor, alpha: f64, scale: f64) -> Candle {
    let is_low = xs.le(0.0)?;
    // The unused branch must stay finite, or its gradient would be infinity times zero.
    let low = is_low.where_cond(xs, &xs.zeros_like()?)?;
    // e^x - 1 is 2t / (1 - t) with t = tanh(x / 2): without cancellation for x at most zero.
    let half = low.affine(0.5, 0.0)?.tanh()?;
    let low = (half.affine(2.0 * alpha * scale, 0.0)? / half.affine(-1.0, 1.0)?)?;
    let high = xs.affine(scale, 0.0)?;
    is_low.where_cond(&low, &high)
}

/// The slope below zero is 0.01.
fn leaky_relu(xs: &Tensor) -> Candle {
    xs.gt(0.0)?.where_cond(xs, &xs.affine(LEAKY_SLOPE, 0.0)?)
}

/// `ln(1 + e^x)` up to the threshold of 20, `x` above it.
fn softplus(xs: &Tensor) -> Candle {
    let is_high = xs.gt(SOFTPLUS_THRESHOLD)?;
    // The unused branch must stay finite, or its gradient would be infinity times zero.
    let power = is_high.where_cond(&xs.zeros_like()?, xs)?.exp()?;
    let sum = power.affine(1.0, 1.0)?;
    // Adds what rounding has removed from 1 + e^x, which keeps the digits of very small values.
    let lost = ((&power - sum.affine(1.0, -1.0)?)? / &sum)?;
    let curved = (sum.log()? + lost)?;
    is_high.where_cond(xs, &curved)
}

const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
const LEAKY_SLOPE: f64 = 0.01;
const SOFTPLUS_THRESHOLD: f64 = 20.0;

#[cfg(test)]
mod tests;
