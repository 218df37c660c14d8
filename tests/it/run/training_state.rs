//! Training states of the real library, typed, and written again.

use nnx_checkpoint::torch::TorchObject;
use nnx_params::{Checkpoints, Value, python_text};
use nnx_run::{Algorithm, CheckpointStore, Data, TrainingState};
use nnx_tests::{Json, LIBRARY_VERSIONS, sha256};

use super::support::{checkpoint, copy_of, read};

/// Compares data with a side-car's tagged tree.
#[track_caller]
fn check(data: &Data, tagged: &Json, at: &str) {
    let kind = tagged.get("t");
    let items = || tagged.get("v").items();
    match (data, kind.text()) {
        (Data::None, "none") => {}
        (Data::Bool(flag), "bool") => assert_eq!(Value::Bool(*flag), tagged.get("v").0, "{at}"),
        (Data::Int(int), "int") => assert_eq!(int.to_string(), tagged.get("v").text(), "{at}"),
        (Data::Float(float), "float") => {
            let bits = format!("{:016x}", float.to_bits());
            assert_eq!(bits, tagged.get("bits").text(), "{at}");
        }
        (Data::Str(text), "str") => assert_eq!(text, tagged.get("v").text(), "{at}"),
        (Data::List(found), "list") | (Data::Tuple(found), "tuple") => {
            assert_eq!(found.len(), items().len(), "{at}");
            for (index, (data, tagged)) in found.iter().zip(items()).enumerate() {
                check(data, &tagged, &format!("{at}[{index}]"));
            }
        }
        (Data::Dict(pairs), "dict") => {
            assert_eq!(pairs.len(), items().len(), "{at}");
            for ((key, value), tagged) in pairs.iter().zip(items()) {
                let [name, tagged] = [0, 1].map(|index| tagged.items()[index].clone());
                check(key, &name, at);
                check(value, &tagged, &format!("{at}.{:?}", name.get("v").0));
            }
        }
        (Data::Tensor(tensor), "tensor") => {
            let dtype = format!("torch.{}", tensor.dtype().name());
            assert_eq!(dtype, tagged.get("dtype").text(), "{at}");
            let bytes = tensor.to_bytes().unwrap();
            assert_eq!(sha256(&bytes), tagged.get("sha256").text(), "{at}");
        }
        // A registered state is kept as a graph; the fixture's is an empty dict.
        (Data::Object(object), "dict") => {
            let graph = object.whole().graph();
            assert_eq!(
                graph.dict_pairs(object.id()).map(<[_]>::len),
                Some(items().len())
            );
        }
        (data, kind) => panic!("{at}: expected {kind}, found {data:?}"),
    }
}

fn last(version: &str) -> (tempfile::TempDir, CheckpointStore, Json) {
    let root = copy_of(version);
    let expected = read(version, "expected.json");
    let store = CheckpointStore::new(expected.get("run_id").text(), root.path()).unwrap();
    (root, store, expected)
}

#[track_caller]
fn check_state(state: &TrainingState, expected: &Json, stamps: bool) {
    let tagged = expected.get("last_training_state");
    let mut judged = 0;
    for pair in tagged.get("v").items() {
        let [key, tagged] = [0, 1].map(|index| pair.items()[index].clone());
        let key = key.get("v");
        let is_stamp = matches!(
            key.text(),
            "nnx_training_state_version" | "checkpoint_id" | "generation"
        );
        if stamps || !is_stamp {
            check(state.get(key.text()).unwrap(), &tagged, key.text());
            judged += 1;
        }
    }
    let rng = expected.get("last_rng_summary").get("v").items();
    for pair in &rng {
        let [key, tagged] = [0, 1].map(|index| pair.items()[index].clone());
        let key = key.get("v");
        let data = state.rng().unwrap().data().get(key.text()).unwrap().clone();
        if matches!(key.text(), "python" | "numpy") {
            // Of these the fixture has the digest of Python's text.
            let text = python_text::repr(&data.to_value().unwrap());
            assert_eq!(
                sha256(text.as_bytes()),
                tagged.get("v").text(),
                "{}",
                key.text()
            );
        } else {
            check(&data, &tagged, key.text());
        }
    }
    assert!(judged >= 8 && rng.len() >= 6);
}

#[test]
fn the_last_state_is_the_librarys_and_survives_being_written() {
    for version in LIBRARY_VERSIONS {
        let (_root, store, expected) = last(version);
        let tag = Checkpoints::Last.into();
        let (saved, state) = store.load_with_training_state(&tag).unwrap();
        let (saved, state) = (saved.unwrap(), state.unwrap());
        check_state(&state, &expected, true);

        let elsewhere = tempfile::tempdir().unwrap();
        let store = CheckpointStore::new("x", elsewhere.path()).unwrap();
        let manifest = store.save(&tag, &saved, Some(&state)).unwrap();
        let again = store.load_training_state(&tag).unwrap().unwrap();
        assert_eq!((again.version(), again.keys().count()), (Some(4), 24));
        assert_eq!(again.generation(), Some(1));
        assert_eq!(again.checkpoint_id(), manifest.checkpoint_id());
        check_state(&again, &expected, false);
    }
}

#[test]
fn an_optimizer_is_told_by_groups_and_names() {
    for version in LIBRARY_VERSIONS {
        let (_root, store, _) = last(version);
        let state = store
            .load_training_state(&Checkpoints::Last.into())
            .unwrap()
            .unwrap();
        let optimizer = state.optimizer().unwrap().unwrap();
        assert_eq!(optimizer.algorithm(), Some(Algorithm::Adam));
        let [group] = optimizer.groups() else {
            panic!("one group");
        };
        assert_eq!(
            (group.lr(), group.betas()),
            (Some(0.01), Some((0.9, 0.999)))
        );
        assert_eq!((group.weight_decay(), group.momentum()), (Some(5e-5), None));
        let names: Vec<_> = group
            .parameters()
            .iter()
            .map(|it| it.name().unwrap())
            .collect();
        let expected = [
            "layers.0.weight",
            "layers.0.bias",
            "layers.1.weight",
            "layers.1.bias",
        ];
        assert_eq!(names, expected);
        let weight = optimizer.parameter("layers.0.weight").unwrap();
        assert_eq!(weight.shape(), Some(&[5, 4][..]));
        assert_eq!(weight.exp_avg().unwrap().shape(), [5, 4]);
        assert_eq!(weight.exp_avg_sq().unwrap().shape(), [5, 4]);
        assert!(weight.max_exp_avg_sq().is_none() && weight.momentum_buffer().is_none());
        let updates = state.counters().and_then(|it| it.committed_updates);
        assert_eq!(weight.step(), Some(updates.unwrap_or(6) as f64));

        // The view gives the values that the state held.
        let mut copy = state.clone();
        copy.set_optimizer(&optimizer);
        for key in ["optimizer", "optimizer_type", "optimizer_topology"] {
            let [a, b] = [&state, &copy].map(|state| format!("{:?}", state.get(key)));
            assert_eq!(a, b);
        }
        let (scheduler, class) = state.scheduler().unwrap();
        assert_eq!(class, Some("torch.optim.lr_scheduler.ReduceLROnPlateau"));
        assert_eq!(scheduler.get("patience").and_then(Data::as_int), Some(8));
        let rng = state.rng().unwrap();
        assert_eq!(rng.torch().unwrap().shape(), [5056]);
        assert!(rng.cuda().is_empty() && rng.train_generators().is_empty());
    }
}

#[test]
fn what_is_not_understood_is_kept_and_written_back() {
    let root = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new("x", root.path()).unwrap();
    let tag = Checkpoints::Last.into();
    let mut state = super::support::training_state(1);
    // A set, an object of a foreign class and tensors that share a storage, from a file of PyTorch's.
    let file = nnx_tests::fixtures_dir().join("torch/py_sets.pt");
    let object = std::sync::Arc::new(TorchObject::open(file).unwrap());
    let described = object.graph().describe(object.graph().root());
    let foreign = nnx_checkpoint::torch::PickledObject::new(object.clone(), object.graph().root());
    state.set("components", Data::dict([("mine", Data::Object(foreign))]));
    state.set(
        "later",
        Data::Tuple(vec![Data::Int(1 << 70), Data::Str("é".to_owned())]),
    );
    for _ in 0..2 {
        store.save(&tag, &checkpoint(1), Some(&state)).unwrap();
        state = store.load_training_state(&tag).unwrap().unwrap();
        assert_eq!(state.keys().last(), Some("later"));
        let later = state.get("later").and_then(Data::to_value).unwrap();
        assert_eq!(python_text::repr(&later), "(1180591620717411303424, 'é')");
        let Some(Data::Object(components)) = state.components() else {
            panic!("components are kept as a graph");
        };
        let graph = components.whole().graph();
        let mine = graph.get(components.id(), "mine").unwrap();
        assert_eq!(graph.describe(mine), described);
    }
}
