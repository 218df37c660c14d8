//! Copies of the fixture runs, and a small checkpoint.

use std::fs;
use std::path::{Path, PathBuf};

use nnx_checkpoint::{Dtype, NNCheckpoint, StateDict, Tensor};
use nnx_params::{
    Activations, NNEvaluationDataPoint, NNIterationDataPoint, NNModelParams, NNParams,
    NNTrainParams, NetParams, Nets,
};
use nnx_run::{
    Counters, Data, NNRun, Optimizer, OptimizerGroup, OptimizerParameter, OptimizerState,
    TrainingState,
};
use nnx_tests::{Json, copy_folder, fixtures_dir};
use tempfile::TempDir;

/// The folder of a version's run fixtures.
pub(super) fn folder(version: &str) -> PathBuf {
    fixtures_dir().join(format!("nnx-{version}/run"))
}

pub(super) fn read(version: &str, name: &str) -> Json {
    Json::read(&folder(version).join(name))
}

/// A copy of a version's runs that may be written to, with the link `best`, which the fixtures keep
/// as a file of its text.
pub(super) fn copy_of(version: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    copy_folder(&folder(version).join("runs"), &root.path().join("runs"));
    let best = root.path().join("runs/best");
    let id = fs::read_to_string(&best).unwrap();
    fs::remove_file(&best).unwrap();
    link(&id, &best);
    root
}

#[cfg(unix)]
pub(super) fn link(text: &str, path: &Path) {
    std::os::unix::fs::symlink(text, path).unwrap();
}

#[cfg(windows)]
pub(super) fn link(text: &str, path: &Path) {
    std::os::windows::fs::symlink_dir(text, path).unwrap();
}

/// Every path below a folder, with the bytes of each file.
pub(super) fn tree(folder: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let is_file = fs::symlink_metadata(&path).unwrap().is_file();
            if path.is_dir() {
                open.push(path.clone());
            }
            found.push((path.clone(), is_file.then(|| fs::read(&path).unwrap())));
        }
    }
    found.sort();
    found
}

pub(super) fn net() -> NetParams {
    let params = NNParams::builder(2, 2).activation(Activations::Relu);
    params.dropout_prob(0.0).build().unwrap().into()
}

pub(super) fn model() -> NNModelParams {
    NNModelParams::builder(Nets::FeedFwd).build().unwrap()
}

/// A run that differs by its salt.
pub(super) fn run(salt: &str) -> NNRun {
    let train = NNTrainParams::builder(4).build().unwrap();
    let run = NNRun::builder(model(), net(), train);
    run.salt(salt).build().unwrap()
}

/// Four floats that are all the same.
pub(super) fn filled(value: f32) -> Tensor {
    let bytes: Vec<u8> = [value; 4].iter().flat_map(|it| it.to_le_bytes()).collect();
    Tensor::from_bytes(Dtype::Float32, &[2, 2], bytes).unwrap()
}

pub(super) fn idp(epoch: i64, val_error: f64) -> NNIterationDataPoint {
    let train = NNEvaluationDataPoint::builder().loss(0.5).build().unwrap();
    let val = NNEvaluationDataPoint::builder().error(val_error);
    NNIterationDataPoint::new(0.01, epoch, epoch, 0, train).with_val_edp(val.build().unwrap())
}

/// A checkpoint whose weights, and epoch, are that number.
pub(super) fn checkpoint(number: i64) -> NNCheckpoint {
    let mut state = StateDict::new();
    state.insert("layers.0.weight", filled(number as f32));
    NNCheckpoint::new(Some(net()), state, model(), idp(number, 0.5))
}

/// A training state whose moments are that number.
pub(super) fn training_state(number: i64) -> TrainingState {
    let adam = Optimizer::Adam {
        betas: (0.9, 0.999),
        eps: 1e-8,
        amsgrad: false,
        decoupled_weight_decay: false,
    };
    let step = (number as f32).to_le_bytes().to_vec();
    let step = Tensor::from_bytes(Dtype::Float32, &[], step).unwrap();
    let mut parameter = OptimizerParameter::new("layers.0.weight", &[2, 2]);
    parameter.set_slot("step", Data::Tensor(step));
    parameter.set_slot("exp_avg", Data::Tensor(filled(number as f32)));
    parameter.set_slot("exp_avg_sq", Data::Tensor(filled(number as f32)));
    let group = OptimizerGroup::new(&adam, 0.01, 5e-5, vec![parameter]);
    let mut state = TrainingState::new();
    state.set_optimizer(&OptimizerState::new(&adam, vec![group]));
    state.set_completed_epoch(number);
    state.set_counters(&Counters {
        global_step: Some(number),
        committed_updates: Some(number),
        planned_n_epochs: Some(4),
    });
    state
}

/// The number of a checkpoint.
#[track_caller]
pub(super) fn number_of(checkpoint: &NNCheckpoint) -> i64 {
    let tensor = checkpoint.net_state.tensor("layers.0.weight").unwrap();
    assert_eq!(tensor.to_bytes().unwrap(), {
        let epoch = checkpoint.idp.epoch_idx().as_f64();
        filled(epoch as f32).to_bytes().unwrap().into_owned()
    });
    checkpoint.idp.epoch_idx().as_i64().unwrap()
}

/// The number of a training state.
#[track_caller]
pub(super) fn number_of_state(state: &TrainingState) -> i64 {
    let optimizer = state.optimizer().unwrap().unwrap();
    let parameter = optimizer.parameter("layers.0.weight").unwrap();
    let number = parameter.step().unwrap();
    let expected = filled(number as f32).to_bytes().unwrap().into_owned();
    for moment in [parameter.exp_avg(), parameter.exp_avg_sq()] {
        assert_eq!(moment.unwrap().to_bytes().unwrap(), expected);
    }
    let counters = state.counters().unwrap();
    assert_eq!(counters.global_step, Some(number as i64));
    assert_eq!(state.completed_epoch(), Some(number as i128));
    number as i64
}
