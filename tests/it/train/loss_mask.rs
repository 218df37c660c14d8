//! Tokens that do not count because a mask of the batch says so.

use candle_core::{Device, Tensor, Var};
use nnx_net::{Batch, Generator};
use nnx_params::{ModelSpec, NNModelParams, NNTrainParams, State};
use nnx_train::{Alignment, CausalLMTask, Model, Parameter, Result, Training};

/// The logits after a token are the row of that token.
struct Bigrams {
    params: NNModelParams,
    table: Var,
    generator: Generator,
}

impl Model for Bigrams {
    fn params(&self) -> &NNModelParams {
        &self.params
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("table", self.table.clone())]
    }

    fn generator(&mut self) -> &mut Generator {
        &mut self.generator
    }

    fn forward(&mut self, batch: &Batch, _: bool) -> Result<Tensor> {
        let ids = &batch.inputs[0];
        let rows = self.table.index_select(&ids.flatten_all()?, 0)?;
        Ok(rows.reshape((ids.dim(0)?, ids.dim(1)?, ()))?)
    }
}

fn bigrams() -> Bigrams {
    let table = [
        [0.5_f32, -1.0, 0.25, 2.0, 0.0],
        [1.0, 0.0, -0.5, 0.75, 0.25],
        [-1.5, 0.5, 1.25, 0.0, 1.0],
        [0.0, 2.5, -0.25, 0.5, -1.0],
        [1.5, 1.0, 0.0, -2.0, 0.5],
    ];
    let spec = ModelSpec::new("test.bigrams", 1, State::new(), 0).unwrap();
    Bigrams {
        params: NNModelParams::builder(spec).build().unwrap(),
        table: Var::new(&table, &Device::Cpu).unwrap(),
        generator: Generator::new(0),
    }
}

const IDS: [[i64; 4]; 2] = [[1, 4, 0, 2], [3, 3, 1, 0]];

fn trained(task: CausalLMTask, mask: &Tensor) -> Result<nnx_train::Trained> {
    let ids = Tensor::new(&IDS, &Device::Cpu)?;
    let targets = IDS.map(|row| row.map(|id| (id + 1) % 5));
    let targets = Tensor::new(&targets, &Device::Cpu)?;
    let root = tempfile::tempdir().unwrap();
    let mut model = bigrams();
    Training::new(&mut model, &NNTrainParams::builder(1).build()?)
        .train_loader(vec![Batch::new([ids, mask.clone()], targets)])
        .objective(task.objective()?)
        .root(root.path())
        .run()
}

/// The sums are those that `tests/fixtures/tools/loss_mask.py` prints.
#[test]
fn masked_tokens_do_not_count() {
    let mask = Tensor::new(&[[1_u8, 1, 0, 1], [0, 1, 1, 0]], &Device::Cpu).unwrap();
    let shifted = CausalLMTask::new(5).smoothing(0.1);
    let aligned = CausalLMTask::new(5)
        .alignment(Alignment::PreShifted)
        .pad_id(0);
    for (task, smoothed, nll, right) in [
        (shifted, 6.7606892585754395, 6.545689582824707, 1.0),
        (aligned, 11.066474914550781, 11.066473484039307, 0.0),
    ] {
        let run = trained(task, &mask).unwrap().run;
        let record = run.idps()[0].train_edp();
        assert_eq!(record.count(), Some(4));
        let metric = |name: &str| record.metrics()[name].as_f64();
        let close = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-6);
        close(record.loss().unwrap().as_f64(), smoothed / 4.0);
        close(metric("nll"), nll / 4.0);
        assert_eq!(metric("token_accuracy"), right / 4.0);
    }
}

#[test]
fn a_mask_that_does_not_fit_is_refused() {
    let cpu = &Device::Cpu;
    for mask in [
        Tensor::new(&[[1_u8, 1, 0], [0, 1, 1]], cpu),
        Tensor::new(&[[1_u8, 1, 0, 2], [0, 1, 1, 0]], cpu),
        Tensor::new(&[[1_f32, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0]], cpu),
    ] {
        let error = trained(CausalLMTask::new(5), &mask.unwrap()).unwrap_err();
        let expected = "the mask of tokens needs whole numbers 0 and 1 in the shape `[2, 4]`";
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}
