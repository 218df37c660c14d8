//! Builds the configuration of a training and prints it with its run id:
//! `cargo run -p nnx-params --example run_id`.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use nnx_params::python_text::json_dumps;
use nnx_params::{
    Activations, NNModelParams, NNOptimParams, NNParams, NNTrainParams, NetParams, Nets, Optims,
    RunIdentity,
};

fn main() -> nnx_params::Result<()> {
    let net: NetParams = NNParams::builder(4, 3)
        .hidden_dims([8])
        .activation(Activations::Relu)
        .dropout_prob(0.1)
        .build()?
        .into();
    let model = NNModelParams::builder(Nets::FeedFwd).build()?;
    let optim = NNOptimParams::builder(Optims::Adamw, 1e-3, (0.9, 0.999), 0.01).build()?;
    let train = NNTrainParams::builder(20).optim(optim).seed(0).build()?;

    println!("net:   {}", json_dumps(&net.state().into()));
    println!("model: {}", json_dumps(&model.state()?.into()));
    println!("train: {}", json_dumps(&train.state().into()));
    let identity = RunIdentity::new(&model, &train).net(&net);
    println!("run id: {}", identity.run_id()?);
    Ok(())
}
