//! The trainings that are measured.

use std::path::Path;
use std::time::{Duration, Instant};

use candle_core::{Device, Tensor};
use nnx_checkpoint::safetensors;
use nnx_net::{Batch, Generator, NNModel};
use nnx_params::{
    Activations, NNConvParams, NNModelParams, NNOptimParams, NNParams, NNTrainParams,
    NNTransformerParams, NetParams, Nets, Optims,
};
use nnx_run::{NNRun, yaml};
use nnx_train::{DataLoader, Gradients, Model, Optimizer, TensorDataset, Training};

use crate::Result;

/// Samples of a batch.
pub(super) const BATCH: usize = 64;
const VOCABULARY: usize = 64;
const TOKENS: usize = 32;
const IMAGE: usize = 28 * 28;
const CLASSES: usize = 10;

/// A net and its data.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Batches of an epoch.
    pub(super) steps: u32,
    net: Nets,
    net_params: NetParams,
    train: NNTrainParams,
    inputs: Tensor,
    targets: Tensor,
}

/// All cases, whose configurations and data are in the folder for the other side.
pub(super) fn all(folder: &Path) -> Result<Vec<Case>> {
    let cases = vec![
        Case::new(
            "ff",
            "FEED_FWD 784-256-10, batches of 64",
            (Nets::FeedFwd, feed_fwd()?),
            Rows::images(500),
        )?,
        Case::new(
            "conv",
            "CONV of 8 and 16 channels, 28×28, batches of 64",
            (Nets::Conv, conv()?),
            Rows::images(40),
        )?,
        Case::new(
            "transformer",
            "TRANSFORMER of 2 blocks, width 64, 32 tokens, batches of 64",
            (Nets::Transformer, transformer()?),
            Rows::tokens(40),
        )?,
    ];
    for case in &cases {
        case.write(folder)?;
    }
    Ok(cases)
}

/// The data of a case.
struct Rows {
    steps: u32,
    is_text: bool,
}

impl Rows {
    fn images(steps: u32) -> Self {
        Self {
            steps,
            is_text: false,
        }
    }

    fn tokens(steps: u32) -> Self {
        Self {
            steps,
            is_text: true,
        }
    }

    fn tensors(&self) -> Result<(Tensor, Tensor)> {
        let rows = usize::try_from(self.steps)? * BATCH;
        let mut generator = Generator::new(1);
        let mut below = |end: usize, count: usize| -> Vec<i64> {
            let end = u32::try_from(end).unwrap_or(u32::MAX);
            (0..count)
                .map(|_| i64::from(generator.next_u32() % end))
                .collect()
        };
        let cpu = &Device::Cpu;
        if self.is_text {
            let shape = (rows, TOKENS);
            let mut tokens = || Tensor::from_vec(below(VOCABULARY, rows * TOKENS), shape, cpu);
            return Ok((tokens()?, tokens()?));
        }
        let targets = Tensor::from_vec(below(CLASSES, rows), rows, cpu)?;
        let inputs: Vec<f32> = (0..rows * IMAGE)
            .map(|_| generator.uniform(-1.0, 1.0))
            .collect();
        Ok((Tensor::from_vec(inputs, (rows, IMAGE), cpu)?, targets))
    }
}

impl Case {
    fn new(
        name: &'static str,
        title: &'static str,
        (net, net_params): (Nets, NetParams),
        rows: Rows,
    ) -> Result<Self> {
        let (inputs, targets) = rows.tensors()?;
        let train = NNTrainParams::builder(1).seed(0).build()?;
        Ok(Self {
            name,
            title,
            steps: rows.steps,
            net,
            net_params,
            train,
            inputs,
            targets,
        })
    }

    fn write(&self, folder: &Path) -> Result<()> {
        let params = NNModelParams::builder(self.net).build()?;
        let run = NNRun::new(params, self.net_params.clone(), self.train.clone())?;
        let text = yaml::to_yaml(&run.full_state()?);
        std::fs::write(folder.join(format!("{}.yaml", self.name)), text)?;
        let path = folder.join(format!("{}.safetensors", self.name));
        let [inputs, targets] = [&self.inputs, &self.targets].map(nnx_checkpoint::Tensor::try_from);
        let (inputs, targets) = (inputs?, targets?);
        let tensors = [("inputs", &inputs), ("targets", &targets)];
        Ok(safetensors::write(
            &mut std::fs::File::create(path)?,
            &tensors,
            None,
        )?)
    }

    fn model(&self) -> Result<NNModel> {
        let params = NNModelParams::builder(self.net).build()?;
        Ok(NNModel::new(self.net_params.clone(), params, 0)?)
    }

    /// A training of one epoch, records, metrics and files included.
    pub(super) fn train(&self) -> Result<Duration> {
        let mut model = self.model()?;
        let data = TensorDataset::new([self.inputs.clone()], self.targets.clone())?;
        let loader = DataLoader::builder(data)
            .batch_size(BATCH)
            .shuffle(true)
            .build()?;
        let root = tempfile::tempdir()?;
        let started = Instant::now();
        let trained = Training::new(&mut model, &self.train)
            .train_loader(loader)
            .root(root.path())
            .run()?;
        let took = started.elapsed();
        if trained.run.idps().len() != usize::try_from(self.steps)? {
            return Err("a training without all its records".into());
        }
        Ok(took)
    }

    /// Forward, backward and update of the same batches, and nothing else.
    pub(super) fn bare(&self) -> Result<Duration> {
        let mut model = self.model()?;
        model.train_mode();
        let params = NNOptimParams::builder(Optims::Adam, 1e-2, (0.9, 0.999), 5e-5).build()?;
        let parameters = model.parameters();
        let mut optimizer = Optimizer::new(&params, parameters.clone())?;
        let mut gradients = Gradients::new();
        let started = Instant::now();
        for step in 0..usize::try_from(self.steps)? {
            let inputs = self.inputs.narrow(0, step * BATCH, BATCH)?;
            let targets = self.targets.narrow(0, step * BATCH, BATCH)?;
            let output = model.outputs(&Batch::new([inputs], targets), true)?;
            let store = Model::loss_terms(&model, &output)?.loss.backward()?;
            gradients.clear();
            gradients.add(&parameters, &store)?;
            optimizer.step(&gradients)?;
        }
        Ok(started.elapsed())
    }
}

fn feed_fwd() -> Result<NetParams> {
    let params = NNParams::builder(IMAGE, CLASSES).hidden_dims([256]);
    let params = params.activation(Activations::Relu).dropout_prob(0.0);
    Ok(params.build()?.into())
}

fn conv() -> Result<NetParams> {
    let params = NNConvParams::builder(IMAGE, CLASSES, [8, 16])
        .kernel_size(3)
        .padding(1)
        .hidden_dims([32])
        .activation(Activations::Relu)
        .dropout_prob(0.0);
    Ok(params.build()?.into())
}

fn transformer() -> Result<NetParams> {
    let params = NNTransformerParams::builder()
        .vocab_size(VOCABULARY)
        .d_model(64)
        .n_heads(4)
        .n_layers(2)
        .max_seq_len(TOKENS)
        .build()?;
    Ok(params.into())
}
