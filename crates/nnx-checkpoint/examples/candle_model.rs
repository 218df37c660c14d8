//! A candle model of your own with the weights of a checkpoint:
//!
//! `cargo run -p nnx-checkpoint --features candle --example candle_model -- tests/fixtures/nnx-0.4.1/checkpoints/ff_relu.safetensors layers.2`
//!
//! The second word is the name of a `torch.nn.Linear` in the file.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::sync::Arc;

use candle_core::{DType, Device, Module, Tensor};
use candle_nn::{Linear, VarBuilder};
use nnx_checkpoint::CheckpointReader;

struct Classifier {
    layer: Linear,
}

impl Classifier {
    fn new(inputs: usize, outputs: usize, weights: VarBuilder<'_>) -> candle_core::Result<Self> {
        let layer = candle_nn::linear(inputs, outputs, weights)?;
        Ok(Self { layer })
    }

    fn forward(&self, batch: &Tensor) -> candle_core::Result<Tensor> {
        candle_nn::ops::softmax_last_dim(&self.layer.forward(batch)?)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(path), Some(layer)) = (words.next(), words.next()) else {
        return Err("expected a checkpoint and the name of a linear layer".into());
    };
    let checkpoint = Arc::new(CheckpointReader::open(path)?);
    let weight = checkpoint.entry(&format!("{layer}.weight"));
    let Some(&[outputs, inputs]) = weight.map(|weight| weight.shape()) else {
        return Err(format!("expected a matrix `{layer}.weight`, found none").into());
    };
    let weights = checkpoint.var_builder(DType::F32, &Device::Cpu).pp(&layer);
    let model = Classifier::new(inputs, outputs, weights)?;
    let batch = Tensor::ones((1, inputs), DType::F32, &Device::Cpu)?;
    println!("{:?}", model.forward(&batch)?.to_vec2::<f32>()?);
    Ok(())
}
