//! A candle model of your own with the weights of a `.pt` file:
//!
//! `cargo run -p nnx-checkpoint --features candle --example candle_model -- tests/fixtures/cases/E03_enum_by_getattr/activation.ckpt`
//!
//! The file is a state dict of a `torch.nn.Linear` under the name `fc`, or of a module with one.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::sync::Arc;

use candle_core::{DType, Device, Module, Tensor};
use candle_nn::{Linear, VarBuilder};
use nnx_checkpoint::CheckpointReader;

struct Classifier {
    fc: Linear,
}

impl Classifier {
    fn new(inputs: usize, outputs: usize, weights: VarBuilder<'_>) -> candle_core::Result<Self> {
        let fc = candle_nn::linear(inputs, outputs, weights.pp("fc"))?;
        Ok(Self { fc })
    }

    fn forward(&self, batch: &Tensor) -> candle_core::Result<Tensor> {
        candle_nn::ops::softmax_last_dim(&self.fc.forward(batch)?)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("expected a checkpoint")?;
    let checkpoint = Arc::new(CheckpointReader::open(path)?);
    let weight = checkpoint.entry("fc.weight").ok_or("no `fc.weight`")?;
    let &[outputs, inputs] = weight.shape() else {
        return Err("`fc.weight` must have two dimensions".into());
    };
    let weights = checkpoint.var_builder(DType::F32, &Device::Cpu);
    let model = Classifier::new(inputs, outputs, weights)?;
    let batch = Tensor::ones((1, inputs), DType::F32, &Device::Cpu)?;
    println!("{:?}", model.forward(&batch)?.to_vec2::<f32>()?);
    Ok(())
}
