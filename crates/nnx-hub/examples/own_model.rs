//! Saves and loads a model of one's own with `ModelHubMixin`.
//!
//! ```sh
//! cargo run -p nnx-hub --example own_model -- /tmp/model
//! ```
//!
//! Without a path the model is saved into a temporary folder. `push_to_hub("owner/name")` needs no
//! more code than `save_pretrained`; it needs the feature `online` and a token.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use std::path::PathBuf;

use candle_core::{DType, Device, Tensor};
use candle_nn::{Linear, Module, VarBuilder, VarMap};
use nnx_hub::{BoxError, Folder, FolderWriter, LoadOptions, ModelHubMixin};
use serde::{Deserialize, Serialize};

/// Written to `config.json`.
#[derive(Serialize, Deserialize)]
struct Config {
    inputs: usize,
    outputs: usize,
}

/// One linear layer.
struct Model {
    config: Config,
    linear: Linear,
}

impl Model {
    fn new(config: Config, vars: &VarBuilder<'_>) -> candle_core::Result<Self> {
        let linear = candle_nn::linear(config.inputs, config.outputs, vars.pp("fc"))?;
        Ok(Self { config, linear })
    }
}

impl ModelHubMixin for Model {
    fn write_pretrained(&self, folder: &mut FolderWriter) -> Result<(), BoxError> {
        folder.config(&self.config)?;
        let bias = self.linear.bias().ok_or("the layer has no bias")?;
        folder.tensors([("fc.weight", self.linear.weight()), ("fc.bias", bias)])?;
        Ok(())
    }

    fn read_pretrained(folder: &Folder, _: &LoadOptions) -> Result<Self, BoxError> {
        let tensors = folder.tensors(&Device::Cpu)?;
        let vars = VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu);
        Ok(Self::new(folder.config()?, &vars)?)
    }
}

fn main() -> Result<(), BoxError> {
    let temporary = tempfile::tempdir()?;
    let folder = std::env::args_os()
        .nth(1)
        .map_or_else(|| temporary.path().join("model"), PathBuf::from);

    let weights = VarMap::new();
    let vars = VarBuilder::from_varmap(&weights, DType::F32, &Device::Cpu);
    let config = Config {
        inputs: 3,
        outputs: 2,
    };
    let model = Model::new(config, &vars)?;
    model.save_pretrained(&folder)?;
    println!("saved {}", folder.display());

    let loaded = Model::from_pretrained(&folder)?;
    let input = Tensor::new(&[[1_f32, 2.0, 3.0]], &Device::Cpu)?;
    let outputs = loaded.linear.forward(&input)?.to_vec2::<f32>()?;
    println!("outputs: {outputs:?}");
    if outputs != model.linear.forward(&input)?.to_vec2::<f32>()? {
        return Err("the loaded model has other outputs than the saved one".into());
    }
    Ok(())
}
