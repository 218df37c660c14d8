//! Counts the steps a second of a training with metrics, records and checkpoints.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::time::Instant;

use candle_core::{DType, Device, Tensor};
use nnx_net::NNModel;
use nnx_params::{Activations, NNModelParams, NNParams, NNTrainParams, Nets};
use nnx_train::{DataLoader, TensorDataset, Training};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let net = NNParams::builder(784, 10)
        .hidden_dims([256])
        .activation(Activations::Relu)
        .dropout_prob(0.0)
        .build()?;
    let mut model = NNModel::new(
        net.into(),
        NNModelParams::builder(Nets::FeedFwd).build()?,
        0,
    )?;
    let (rows, epochs) = (6400, 5);
    let inputs = Tensor::randn(0_f32, 1.0, (rows, 784), &Device::Cpu)?;
    let targets = inputs.narrow(1, 0, 10)?.argmax(1)?.to_dtype(DType::I64)?;
    let data = TensorDataset::new([inputs], targets)?;
    let loader = DataLoader::builder(data)
        .batch_size(64)
        .shuffle(true)
        .build()?;
    let root = tempfile::tempdir()?;
    let begin = Instant::now();
    let trained = Training::new(&mut model, &NNTrainParams::builder(epochs).seed(0).build()?)
        .train_loader(loader)
        .root(root.path())
        .run()?;
    let steps = trained.updates as f64 / begin.elapsed().as_secs_f64();
    println!("{} updates, {steps:.0} a second", trained.updates);
    Ok(())
}
