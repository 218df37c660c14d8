//! Runs that the real library recorded, and their configurations.

use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor, Var};
use nnx_checkpoint::CheckpointReader;
use nnx_params::{NNOptimParams, NNSchedulerParams, State, Value, python_text};
use nnx_run::{CheckpointStore, CheckpointTag, Data, OptimizerState, TrainingState};
use nnx_tests::Json;
use nnx_train::{Horizon, Parameter};

use super::fixture::{folder, names};

/// The only run of a `Trainer`, with two optimizers.
pub(super) const TRAINER: &str = "ff_trainer";

/// Parameters by name.
type Weights = Vec<(String, Tensor)>;

/// A run of the real library.
pub(super) struct Recorded {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) json: Json,
    pub(super) tensors: CheckpointReader,
}

impl Recorded {
    /// All runs, in the order of their names.
    pub(super) fn all() -> Vec<Self> {
        let folders = names().into_iter().map(|name| folder().join(name));
        folders.map(|folder| Self::read(&folder)).collect()
    }

    /// The runs with one optimizer.
    pub(super) fn with_one_optimizer() -> Vec<Self> {
        let mut all = Self::all();
        all.retain(|run| run.name != TRAINER);
        assert_eq!(all.len(), 64);
        all
    }

    fn read(folder: &Path) -> Self {
        Self {
            name: folder.file_name().unwrap().to_str().unwrap().to_owned(),
            json: Json::read(&folder.join("fixture.json")),
            tensors: CheckpointReader::open(folder.join("tensors.safetensors")).unwrap(),
            folder: folder.to_owned(),
        }
    }

    fn configuration(&self, part: &str) -> State {
        let train = self.json.get("state").get("train");
        train.get(part).state().clone()
    }

    pub(super) fn optim(&self) -> NNOptimParams {
        NNOptimParams::from_state(&self.configuration("optim")).unwrap()
    }

    pub(super) fn scheduler(&self) -> NNSchedulerParams {
        NNSchedulerParams::from_state(&self.configuration("scheduler")).unwrap()
    }

    /// The epochs and updates that were planned.
    pub(super) fn horizon(&self) -> Horizon {
        let train = self.json.get("state").get("train");
        let epochs = train.get("n_epochs").size();
        let trained = self.json.get("epochs").items().len();
        let batches = self.json.get("lr").items().len() / trained;
        let window = self.optim().accumulate_grad_batches();
        Horizon::new(epochs).with_updates((epochs * batches.div_ceil(window)).max(1))
    }

    /// The training state that the run left with its last checkpoint.
    pub(super) fn training_state(&self) -> TrainingState {
        TrainingState::from_file(self.folder.join("training_state.pt")).unwrap()
    }

    /// The weights that the run went on from, and the training state unless it began with a fresh one.
    pub(super) fn source(&self) -> Option<(Weights, Option<TrainingState>)> {
        let resume = self.json.get("resume");
        if resume.get("mode").text() == "fresh" {
            return None;
        }
        let store = CheckpointStore::new(resume.get("source_run_id").text(), &self.folder).unwrap();
        let tag: CheckpointTag = resume.get("source_checkpoint").text().parse().unwrap();
        let (checkpoint, state) = store.load_with_training_state(&tag).unwrap();
        let state_dict = checkpoint.unwrap().net_state;
        let weights = state_dict
            .tensors()
            .map(|(name, tensor)| (name.to_owned(), Tensor::try_from(tensor).unwrap()));
        let is_stateful = resume.get("mode").text() == "stateful";
        Some((weights.collect(), state.filter(|_| is_stateful)))
    }

    /// A tensor of the fixture.
    pub(super) fn tensor(&self, name: &str) -> Option<Tensor> {
        self.tensors.entry(name)?;
        Some(Tensor::try_from(&self.tensors.tensor(name).unwrap()).unwrap())
    }

    /// The parameters in the library's order, as they were before the first update.
    pub(super) fn parameters(&self, order: &OptimizerState) -> Vec<Parameter> {
        let frozen = self.json.get("frozen").texts();
        let source = self.source().map(|(weights, _)| weights);
        let source = source.unwrap_or_default();
        let saved = order.groups().iter().flat_map(|group| group.parameters());
        let parameters = saved.map(|saved| {
            let name = saved.name().unwrap();
            let loaded = source.iter().find(|(known, _)| known == name);
            let value = match loaded {
                Some((_, value)) => value.clone(),
                None => self.tensor(&format!("init.{name}")).unwrap(),
            };
            let is_frozen = |glob: &String| python_text::fnmatchcase(name, glob);
            Parameter {
                name: name.to_owned(),
                var: Var::from_tensor(&value.to_device(&Device::Cpu).unwrap()).unwrap(),
                requires_grad: !frozen.iter().any(is_frozen),
            }
        });
        parameters.collect()
    }
}

/// The bits of float32 values.
pub(super) fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// The values of a tensor in row-major order.
pub(super) fn values(tensor: &Tensor) -> Vec<f32> {
    tensor.flatten_all().unwrap().to_vec1().unwrap()
}

/// Compares data with a value that JSON kept, where a tuple is a list. Floats are to be the same bit for
/// bit, and mappings to have the same keys in the same order.
#[track_caller]
pub(super) fn check_data(found: &Data, expected: &Value, at: &str) {
    match (found, expected) {
        (Data::List(found) | Data::Tuple(found), Value::List(expected)) => {
            assert_eq!(found.len(), expected.len(), "{at}");
            for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
                check_data(found, expected, &format!("{at}[{index}]"));
            }
        }
        (Data::Dict(found), Value::Map(expected)) => {
            let keys: Vec<_> = found.iter().map(|(key, _)| key.as_str().unwrap()).collect();
            assert_eq!(keys, expected.keys().collect::<Vec<_>>(), "{at}");
            for ((key, found), expected) in found.iter().zip(expected.values()) {
                check_data(found, expected, &format!("{at}.{}", key.as_str().unwrap()));
            }
        }
        _ => assert_eq!(found.to_value().as_ref(), Some(expected), "{at}"),
    }
}

/// Compares two pieces of a training state: types, keys in order, and the bytes of tensors.
#[track_caller]
pub(super) fn check_same(found: &Data, expected: &Data, at: &str) {
    match (found, expected) {
        (Data::List(found), Data::List(expected)) | (Data::Tuple(found), Data::Tuple(expected)) => {
            assert_eq!(found.len(), expected.len(), "{at}");
            for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
                check_same(found, expected, &format!("{at}[{index}]"));
            }
        }
        (Data::Dict(found), Data::Dict(expected)) => {
            let keys = |pairs: &[(Data, Data)]| -> Vec<_> {
                pairs
                    .iter()
                    .map(|(key, _)| key.to_value().unwrap())
                    .collect()
            };
            assert_eq!(keys(found), keys(expected), "{at}");
            for ((key, found), (_, expected)) in found.iter().zip(expected) {
                check_same(
                    found,
                    expected,
                    &format!("{at}.{:?}", key.to_value().unwrap()),
                );
            }
        }
        (Data::Tensor(found), Data::Tensor(expected)) => {
            assert_eq!(found.dtype(), expected.dtype(), "{at}");
            assert_eq!(found.shape(), expected.shape(), "{at}");
            assert_eq!(
                found.to_bytes().unwrap(),
                expected.to_bytes().unwrap(),
                "{at}"
            );
        }
        _ => {
            let found = found.to_value();
            assert!(found.is_some(), "{at}");
            assert_eq!(found, expected.to_value(), "{at}");
        }
    }
}
