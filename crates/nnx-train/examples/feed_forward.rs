//! Trains a FEED_FWD net on points around two centres, and leaves the run under `runs/` in a folder.
//!
//! ```sh
//! cargo run -p nnx-train --example feed_forward -- /tmp/feed_forward
//! ```

#![expect(clippy::print_stdout, reason = "an example prints")]

use candle_core::{Device, Tensor};
use nnx_net::NNModel;
use nnx_params::{Activations, NNModelParams, NNParams, NNTrainParams, Nets};
use nnx_train::{DataLoader, EarlyStopping, TensorDataset, Training};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let net = NNParams::builder(2, 2)
        .hidden_dims([16])
        .activation(Activations::Relu)
        .dropout_prob(0.1)
        .build()?;
    let params = NNModelParams::builder(Nets::FeedFwd).build()?;
    let mut model = NNModel::new(net.into(), params, 0)?;

    let points = |count: usize| -> Result<TensorDataset, Box<dyn std::error::Error>> {
        let classes = Tensor::from_iter((0..count).map(|row| (row % 2) as i64), &Device::Cpu)?;
        let centres = (classes.to_dtype(candle_core::DType::F32)? * 2.0)?.unsqueeze(1)?;
        let points =
            Tensor::randn(0_f32, 0.5, (count, 2), &Device::Cpu)?.broadcast_add(&centres)?;
        Ok(TensorDataset::new([points], classes)?)
    };
    let train = DataLoader::builder(points(200)?)
        .batch_size(16)
        .shuffle(true)
        .build()?;
    let val = DataLoader::builder(points(50)?).batch_size(50).build()?;

    let trained = Training::new(&mut model, &NNTrainParams::builder(20).seed(0).build()?)
        .train_loader(train)
        .val_loader(val)
        .callback(EarlyStopping::new().patience(3))
        .root(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()))
        .run()?;
    let last = trained.run.idps().last();
    let error = last.and_then(|record| record.val_edp()?.error());
    println!("run {} has the validation error {error:?}", trained.run);
    Ok(())
}
