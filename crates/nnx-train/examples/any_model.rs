//! Trains a model that NNx does not know: `cargo run -p nnx-train --example any_model -- /tmp/own`
//! The run is written below that folder; the same training again needs another folder.
#![expect(clippy::print_stdout, reason = "an example prints")]

use candle_core::{DType, Device, Tensor, Var};
use nnx_net::{Batch, Generator};
use nnx_params::{ModelSpec, NNModelParams, NNTrainParams, State};
use nnx_train::{Model, Parameter, Result, Training};

struct Mine(NNModelParams, Var, Var, Generator);

impl Model for Mine {
    fn params(&self) -> &NNModelParams {
        &self.0
    }

    fn parameters(&self) -> Vec<Parameter> {
        let hidden = Parameter::new("hidden", self.1.clone());
        vec![hidden, Parameter::new("out", self.2.clone())]
    }

    fn generator(&mut self) -> &mut Generator {
        &mut self.3
    }

    fn forward(&mut self, batch: &Batch, _training: bool) -> Result<Tensor> {
        let hidden = batch.inputs[0].matmul(self.1.as_tensor())?.tanh()?;
        Ok(hidden.matmul(self.2.as_tensor())?)
    }
}

fn main() -> Result<()> {
    let params = NNModelParams::builder(ModelSpec::new("example.mine", 1, State::new(), 0)?);
    let hidden = Var::randn(0_f32, 0.5, (3, 8), &Device::Cpu)?;
    let out = Var::randn(0_f32, 0.5, (8, 2), &Device::Cpu)?;
    let mut model = Mine(params.build()?, hidden, out, Generator::new(0));
    let inputs = Tensor::randn(0_f32, 1.0, (32, 3), &Device::Cpu)?;
    let targets = inputs.sum(1)?.ge(0_f32)?.to_dtype(DType::I64)?;
    let trained = Training::new(&mut model, &NNTrainParams::builder(50).build()?)
        .train_loader(vec![Batch::new([inputs], targets)])
        .root(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()))
        .run()?;
    let last = trained.run.idps().last();
    println!("{:?}", last.and_then(|record| record.train_edp().error()));
    Ok(())
}
