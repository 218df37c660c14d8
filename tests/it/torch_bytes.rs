//! We write the same bytes as `torch.save` for the same object.

use std::collections::{BTreeMap, HashMap};

use nnx_checkpoint::torch::{PickledObject, TorchObject};
use nnx_checkpoint::{
    CheckpointFormat, NNCheckpoint, StateDict, StateDictMetadata, StateValue, Storage, Tensor,
};
use nnx_params::{NNCheckpointTransform, NNIterationDataPoint, NNModelParams, NetParams};
use nnx_tests::{Fixture, Form};

/// The zip fixtures with the folder that holds their records.
fn zip_fixtures() -> Vec<(Fixture, std::path::PathBuf, String)> {
    let all: Vec<_> = Fixture::all()
        .into_iter()
        .flat_map(|fixture| {
            let files = fixture.files();
            files
                .into_iter()
                .map(move |(form, path)| (fixture.clone(), form, path))
        })
        .filter(|(_, form, _)| *form == Form::Zip)
        .map(|(fixture, _, path)| {
            let root = fixture
                .sidecar
                .get("files")
                .get("zip")
                .get("zip_root")
                .text()
                .to_owned();
            (fixture, path, root)
        })
        .collect();
    assert!(all.len() > 60, "only {} zip fixtures", all.len());
    all
}

#[test]
fn a_graph_that_came_from_a_file_is_written_as_that_file() {
    let fixtures = zip_fixtures();
    for (fixture, path, root) in &fixtures {
        let mut written = Vec::new();
        let object = TorchObject::open(path).unwrap();
        object.write_to(&mut written, root).unwrap();
        assert!(
            written == std::fs::read(path).unwrap(),
            "{} differs",
            fixture.label()
        );
    }
    println!(
        "{} of {} torch files written byte for byte",
        fixtures.len(),
        fixtures.len()
    );
}

/// The classes' own bytes: decoded into typed values, then encoded again, as NNx 0.4.1 would.
#[test]
fn a_checkpoint_of_0_4_1_is_written_as_python_writes_it() {
    /// Properties of the file that a typed checkpoint does not keep.
    const OTHERWISE: &[(&str, &str)] = &[
        ("pickle_protocol3", "another protocol than `to_file` uses"),
        ("pickle_protocol4", "another protocol than `to_file` uses"),
        ("pickle_protocol5", "another protocol than `to_file` uses"),
        ("short_slots4", "an older version's list of values"),
        ("short_slots5", "an older version's list of values"),
        ("short_slots6", "an older version's list of values"),
    ];
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("written.pt");
    let (mut same, mut differing) = (0, Vec::new());
    for (fixture, path, _) in zip_fixtures() {
        if fixture.version != "0.4.1" {
            continue;
        }
        NNCheckpoint::from_file(&path)
            .unwrap()
            .to_file(&target, CheckpointFormat::Pickle)
            .unwrap();
        if std::fs::read(&target).unwrap() == std::fs::read(&path).unwrap() {
            same += 1;
        } else {
            differing.push(fixture.name);
        }
    }
    let expected: Vec<_> = OTHERWISE.iter().map(|(name, _)| *name).collect();
    assert_eq!(differing, expected);
    println!("{same} checkpoints written byte for byte; otherwise by design: {OTHERWISE:?}");
}

/// A checkpoint with nothing of its file: made of the states of its configurations, the bytes of its
/// tensors, and the versions of its modules.
fn rebuilt(checkpoint: &NNCheckpoint) -> NNCheckpoint {
    let mut storages: HashMap<usize, Storage> = HashMap::new();
    let mut state = StateDict::new();
    for (name, value) in checkpoint.net_state.iter() {
        let StateValue::Tensor(tensor) = value else {
            state.insert_value(name, value.clone());
            continue;
        };
        let storage = storages
            .entry(tensor.storage().identity())
            .or_insert_with(|| Storage::new(tensor.storage().bytes().unwrap().to_vec()))
            .clone();
        let copy = Tensor::view(
            storage,
            tensor.dtype(),
            tensor.offset(),
            tensor.shape(),
            tensor.strides(),
        )
        .unwrap();
        let copy = copy
            .with_class(tensor.class())
            .with_requires_grad(tensor.requires_grad());
        state.insert(name, copy);
    }
    let modules = match checkpoint.net_state.modules() {
        StateDictMetadata::Attributes(object) => StateDictMetadata::Versions(versions(object)),
        other => other.clone(),
    };
    let net_params = checkpoint
        .net_params
        .as_ref()
        .map(|params| NetParams::resolve_from_state(&params.state()).unwrap());
    let mut new = NNCheckpoint::new(
        net_params,
        state
            .with_mapping(checkpoint.net_state.mapping())
            .with_modules(modules),
        NNModelParams::from_state(&checkpoint.model_params.state().unwrap()).unwrap(),
        NNIterationDataPoint::from_state(&checkpoint.idp.state()).unwrap(),
    );
    new.transforms = checkpoint
        .transforms
        .iter()
        .map(|transform| NNCheckpointTransform::from_state(&transform.state()).unwrap())
        .collect();
    new.training_state_id
        .clone_from(&checkpoint.training_state_id);
    new.training_state_present = checkpoint.training_state_present;
    new
}

/// The versions of the modules, out of the attributes of a pickled state dict.
fn versions(attributes: &PickledObject) -> Vec<(String, i64)> {
    let graph = attributes.whole().graph();
    let metadata = graph.get(attributes.id(), "_metadata").unwrap();
    let pairs = graph.dict_pairs(metadata).unwrap();
    pairs
        .iter()
        .map(|&(path, about)| {
            let version = graph.get(about, "version").unwrap();
            (
                graph.text(path).unwrap().to_owned(),
                graph.int(version).unwrap(),
            )
        })
        .collect()
}

#[test]
fn a_checkpoint_made_of_states_and_tensors_is_written_as_python_writes_it() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("written.pt");
    let mut same: BTreeMap<String, usize> = BTreeMap::new();
    let mut differing = Vec::new();
    for (fixture, path, _) in zip_fixtures() {
        let by_name = fixture.name.starts_with("pickle_protocol")
            || fixture.name.starts_with("short_slots")
            // A module that is known only while a program runs has no state.
            || fixture.name == "runtime_module";
        if fixture.version != "0.4.1" || by_name {
            continue;
        }
        let net = fixture.net().unwrap_or_else(|| "registered".to_owned());
        rebuilt(&NNCheckpoint::from_file(&path).unwrap())
            .to_file(&target, CheckpointFormat::Pickle)
            .unwrap();
        if std::fs::read(&target).unwrap() == std::fs::read(&path).unwrap() {
            *same.entry(net).or_default() += 1;
        } else {
            differing.push(fixture.name);
        }
    }
    println!("made of states and tensors, byte for byte: {same:?}; differing: {differing:?}");
    assert_eq!(differing, [""; 0]);
    for net in [
        "conv",
        "feed_fwd",
        "feed_fwd_moe",
        "graph_att",
        "graph_conv",
        "graph_sage",
        "transformer",
        "vit",
    ] {
        assert!(same.contains_key(net), "no fixture of `{net}`");
    }
}
