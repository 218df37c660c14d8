//! The first window of every run that takes the default step: its batches, masks, losses, records and
//! the gradient of its update.

use std::path::{Path, PathBuf};

use candle_core::Tensor;
use nnx_checkpoint::{CheckpointReader, NNCheckpoint, StateDict};
use nnx_net::{Batch, EvaluateOptions, Generator, NNModel, NllInput};
use nnx_params::{NNEvaluationDataPoint, NNIterationDataPoint, Value};
use nnx_run::NNRun;
use nnx_tests::{Json, float_from_hex};

use super::fixture::{folder, names};
use super::judge::farther;
use super::recorded::values;
use nnx_train::{DataLoader, Gradients, Loader, Parameter, TensorDataset};

/// A step of its own, bfloat16, a history in a journal, or a start that is not fresh.
const OTHER_STEPS: [&str; 11] = [
    "ff_bfloat16",
    "journal",
    "moe_balanced",
    "resume_from_best",
    "resume_generator",
    "resume_monitor_update_clock",
    "resume_planned",
    "resume_stateful",
    "resume_weights_only",
    "transformer_lm_task",
    "vit",
];

/// How far a loss, and an element of a gradient in relation to the largest, may be from torch's.
const TOLERANCE: f64 = 2e-6;

struct Case {
    name: String,
    fixture: Json,
    tensors: CheckpointReader,
    run: NNRun,
}

impl Case {
    fn read(folder: &Path) -> Self {
        let fixture = Json::read(&folder.join("fixture.json"));
        let root = tempfile::tempdir().unwrap();
        let run_id = fixture.get("run_id");
        let target = root.path().join("runs").join(run_id.text());
        std::fs::create_dir_all(&target).unwrap();
        for file in ["run.yaml", "idps.csv"] {
            std::fs::copy(folder.join(file), target.join(file)).unwrap();
        }
        Self {
            name: folder.file_name().unwrap().to_str().unwrap().to_owned(),
            tensors: CheckpointReader::open(folder.join("tensors.safetensors")).unwrap(),
            run: NNRun::load(run_id.text(), root.path()).unwrap(),
            fixture,
        }
    }

    fn tensor(&self, name: &str) -> Tensor {
        Tensor::try_from(&self.tensors.tensor(name).unwrap()).unwrap()
    }

    fn find(&self, name: &str) -> Option<Tensor> {
        { self.tensors.entry(name) }.map(|_| self.tensor(name))
    }

    /// The model as it was before training, and its generator as the first pass finds it.
    fn model(&self) -> NNModel {
        let state: StateDict = { self.tensors.tensors().iter() }
            .filter_map(|entry| {
                let name = entry.name().strip_prefix("init.")?;
                Some((name.to_owned(), self.tensors.tensor(entry.name()).unwrap()))
            })
            .collect();
        let edp = NNEvaluationDataPoint::builder().build().unwrap();
        let idp = NNIterationDataPoint::new(0.1, 0, 0, 0, edp);
        let mut checkpoint = NNCheckpoint::new(
            self.run.net().cloned(),
            state,
            self.run.model().clone(),
            idp,
        );
        checkpoint.transforms = self.run.transforms().to_vec();
        let mut model = NNModel::from_checkpoint(&checkpoint).unwrap();
        let seed = match self.fixture.get("state").get("train").find("seed") {
            Some(seed) => seed.size() as u64,
            None => {
                let seed = self.fixture.get("init_seed").size() as u64;
                let fresh = NNModel::new(
                    self.run.net().unwrap().clone(),
                    self.run.model().clone(),
                    seed,
                );
                model.set_generator(fresh.unwrap().generator().clone());
                return model;
            }
        };
        model.seed(seed);
        model
    }

    fn loader(&self) -> Box<dyn Loader> {
        let about = self.fixture.get("loader").get("train");
        if about.get("kind").text() == "list" {
            let seeds = self.fixture.find("seeds").map(|seeds| seeds.size());
            let batch = |number: usize| {
                // Pairs have numbers, graphs have names.
                let part = |part| self.find(&format!("train.{number}.{part}"));
                let parts = ["0", "x", "edge_index", "1", "y"].into_iter();
                let parts: Vec<Tensor> = parts.filter_map(part).collect();
                let (targets, inputs) = parts.split_last().unwrap();
                Batch::new(inputs.iter().cloned(), targets.clone()).seeds(seeds)
            };
            let batches = about.get("batches").size();
            return Box::new((0..batches).map(batch).collect::<Vec<_>>());
        }
        let is = |key: &str| about.get(key).0 == Value::Bool(true);
        let own = { about.find("generator_seed") }.map(|seed| Generator::new(seed.size() as u64));
        let data = TensorDataset::new([self.tensor("train.0")], self.tensor("train.1")).unwrap();
        let loader = DataLoader::builder(data)
            .batch_size(about.get("batch_size").size())
            .shuffle(is("shuffle"))
            .drop_last(is("drop_last"))
            .generator(own);
        Box::new(loader.build().unwrap())
    }
}

/// The largest differences of a loss and of a gradient, the latter in relation to its largest element.
fn judge(case: &Case) -> (f64, f64) {
    let name = &case.name;
    let model = case.model();
    let mut loader = case.loader();
    let optim = case.fixture.get("state").get("train").get("optim");
    let window = { optim.find("accumulate_grad_batches") }.map_or(1, |size| size.size());
    let trainable = |name: &str| {
        let frozen = case.fixture.get("frozen").texts();
        let is_frozen = |glob: &String| nnx_params::python_text::fnmatchcase(name, glob);
        model.is_trainable(name) && !frozen.iter().any(is_frozen)
    };
    let parameters: Vec<Parameter> = { model.net().parameters().distinct() }
        .filter(|(name, _)| trainable(name))
        .map(|(name, var)| Parameter::new(name, var.clone()))
        .collect();
    let batches = loader.pass(&mut model.generator()).unwrap();
    let losses = case.fixture.get("loss").items();
    let (mut gradients, mut weight, mut worst_loss) = (Gradients::new(), 0.0, 0.0_f64);
    for (number, batch) in batches.take(window).enumerate() {
        let output = model.train_batch(&batch.unwrap()).unwrap();
        let terms = model
            .loss_terms(&output.logits, &output.targets, NllInput::default())
            .unwrap();
        let loss = f64::from(terms.loss.to_scalar::<f32>().unwrap());
        let score = model
            .score(&output.logits, &output.targets, &EvaluateOptions::new())
            .unwrap();
        if terms.weight > 0.0 {
            let expected = float_from_hex(losses[number].text());
            worst_loss = farther(worst_loss, (loss - expected).abs() / expected.abs());
        }
        if let Some(record) = case.run.idps().get(number) {
            let expected = record.train_edp();
            let names = |edp: &NNEvaluationDataPoint| {
                let state = edp.state();
                let entries = state
                    .iter()
                    .map(|(key, value)| (key.to_owned(), value.clone()));
                let kept =
                    entries.filter(|(key, _)| key != "loss" && key != "extra" && key != "metrics");
                kept.collect::<Vec<_>>()
            };
            assert_eq!(
                names(&score.point),
                names(expected),
                "{name}, batch {number}"
            );
        }
        weight += terms.weight;
        gradients
            .add(&parameters, &terms.numerator.backward().unwrap())
            .unwrap();
    }
    let update = &case.fixture.get("updates").items()[0];
    let draws = update.get("draws").size();
    let mut expected = Generator::new(model.generator().initial_seed());
    (0..draws).for_each(|_| {
        expected.next_u32();
    });
    assert!(
        expected.to_state() == model.generator().to_state(),
        "{name}: not `{draws}` draws"
    );
    gradients.scale((1.0 / weight) as f32);
    let clipped = optim.find("grad_clip_norm").is_some();
    let mut worst = 0.0_f64;
    for parameter in &parameters {
        let expected = case.find(&format!("update.0.grad.{}", parameter.name));
        let found = gradients.get(parameter);
        assert_eq!(
            found.is_some(),
            expected.is_some(),
            "{name}: {}",
            parameter.name
        );
        let (Some(found), Some(expected)) = (found, expected) else {
            continue;
        };
        if clipped {
            continue;
        }
        let expected = values(&expected);
        let largest = expected
            .iter()
            .fold(f32::MIN_POSITIVE, |most, x| most.max(x.abs()));
        for (found, expected) in found.iter().zip(&expected) {
            worst = farther(worst, f64::from((found - expected).abs() / largest));
        }
    }
    (worst_loss, worst)
}

#[test]
fn losses_records_draws_and_gradients_are_those_of_the_real_library() {
    let folders = names().into_iter().map(|name| folder().join(name));
    let mut folders: Vec<PathBuf> = folders.collect();
    folders.retain(|folder| !OTHER_STEPS.iter().any(|name| folder.ends_with(name)));
    let mut judged = 0;
    for folder in folders {
        let case = Case::read(&folder);
        let (loss, gradient) = judge(&case);
        println!("{}: loss {loss:.1e}, gradient {gradient:.1e}", case.name);
        assert!(loss <= TOLERANCE, "{}: a loss differs by {loss}", case.name);
        assert!(
            gradient <= TOLERANCE,
            "{}: a gradient differs by {gradient}",
            case.name
        );
        judged += 1;
    }
    assert_eq!(judged, 54);
}
