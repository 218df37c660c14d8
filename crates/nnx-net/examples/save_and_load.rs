//! Builds a model, saves it as a checkpoint, loads the checkpoint and predicts with it.
//!
//! ```sh
//! cargo run -p nnx-net --example save_and_load -- /tmp/model.pt
//! ```
//!
//! Without a path the checkpoint is written into a temporary folder. Python reads it with
//! `NNCheckpoint.from_file("model.pt")`.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use std::error::Error;
use std::path::PathBuf;

use nnx_checkpoint::{CheckpointFormat, NNCheckpoint};
use nnx_net::NNModel;
use nnx_net::candle_core::{Device, Tensor};
use nnx_params::{
    Activations, NNEvaluationDataPoint, NNIterationDataPoint, NNModelParams, NNParams, Nets,
};

fn main() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let path = std::env::args_os()
        .nth(1)
        .map_or_else(|| temporary.path().join("model.pt"), PathBuf::from);

    // Four inputs, one hidden layer, three classes; the initial weights are those of
    // `torch.manual_seed(42)`.
    let net_params = NNParams::builder(4, 3)
        .hidden_dims([8])
        .activation(Activations::Relu)
        .dropout_prob(0.1)
        .build()?;
    let params = NNModelParams::builder(Nets::FeedFwd).build()?;
    let model = NNModel::new(net_params.into(), params, 42)?;

    // A checkpoint has the weights, the configuration and the point of training.
    let edp = NNEvaluationDataPoint::builder().loss(1.1).build()?;
    let checkpoint = model.checkpoint(NNIterationDataPoint::new(0.01, 0, 0, 0, edp))?;
    checkpoint.to_file(&path, CheckpointFormat::Pickle)?;
    println!("saved {}", path.display());

    let loaded = NNModel::from_checkpoint(&NNCheckpoint::from_file(&path)?)?;
    let flowers = [[5.1_f32, 3.5, 1.4, 0.2], [6.7, 3.0, 5.2, 2.3]];
    let flowers = Tensor::new(&flowers, &Device::Cpu)?;
    let prediction = loaded.predict(&flowers)?;
    let classes = prediction.classes.to_vec1::<i64>()?;
    println!("classes: {classes:?}");
    println!("{}", loaded.summary(&flowers)?);

    let same = model.predict(&flowers)?.logits.to_vec2::<f32>()?;
    if prediction.logits.to_vec2::<f32>()? != same {
        return Err("the loaded model has other logits than the saved one".into());
    }
    Ok(())
}
