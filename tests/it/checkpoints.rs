//! Every checkpoint fixture opens with the states and tensors that the real library says, in every
//! form, and survives being written and read again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nnx_checkpoint::{CheckpointFormat, DictKind, ErrorKind, NNCheckpoint, StateDict, StateValue};
use nnx_params::{State, Value, python_text};
use nnx_tests::{BARE_STATE_DICT, Fixture, Form, LIBRARY_VERSIONS, fixtures_dir, sha256};

#[track_caller]
fn open(path: &Path) -> NNCheckpoint {
    NNCheckpoint::from_file(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Compares a checkpoint with the side-car of the fixture that it came from.
#[track_caller]
fn check(checkpoint: &NNCheckpoint, fixture: &Fixture, form: Form) {
    let at = format!("{} as {form:?}", fixture.label());
    let sidecar = &fixture.sidecar;
    assert_eq!(
        checkpoint.net_params.as_ref().map(|params| params.state()),
        sidecar
            .find("net_params_state")
            .map(|state| state.state().clone()),
        "{at}: net_params"
    );
    assert_eq!(
        &checkpoint.model_params.state().unwrap(),
        sidecar.get("model_params_state").state(),
        "{at}: model_params"
    );
    assert_eq!(
        &checkpoint.idp.state(),
        sidecar.get("idp_state").state(),
        "{at}: idp"
    );
    let idp = Value::Map(checkpoint.idp.state());
    assert_eq!(
        python_text::json_dumps(&idp),
        sidecar.get("idp_json").text(),
        "{at}: idp text"
    );
    let transforms = checkpoint
        .transforms
        .iter()
        .map(|transform| transform.state().into());
    assert_eq!(
        Value::List(transforms.collect()),
        sidecar.get("transforms").0,
        "{at}: transforms"
    );
    assert_eq!(
        checkpoint.training_state_id.as_deref(),
        sidecar
            .find("training_state_id")
            .as_ref()
            .map(|id| id.text()),
        "{at}: training_state_id"
    );
    assert_eq!(
        checkpoint.training_state_present.map(Value::Bool),
        sidecar
            .find("training_state_present")
            .map(|present| present.0),
        "{at}: training_state_present"
    );
    check_state_dict(&checkpoint.net_state, fixture, form, &at);
}

#[track_caller]
fn check_state_dict(state: &StateDict, fixture: &Fixture, form: Form, at: &str) {
    let names: Vec<&str> = state.iter().map(|(name, _)| name).collect();
    assert_eq!(names, fixture.key_order(form), "{at}: keys");
    let expected = fixture.tensors();
    assert!(!expected.is_empty(), "{at}: the side-car lists no tensor");
    assert_eq!(
        state.tensors().count(),
        expected.len(),
        "{at}: number of tensors"
    );
    for tensor in &expected {
        let found = state
            .tensor(&tensor.name)
            .unwrap_or_else(|| panic!("{at}: {}", tensor.name));
        assert_eq!(found.dtype().name(), tensor.dtype, "{at}: {}", tensor.name);
        assert_eq!(found.shape(), tensor.shape, "{at}: {}", tensor.name);
        let bytes = found
            .to_bytes()
            .unwrap_or_else(|error| panic!("{at}: {error}"));
        assert_eq!(sha256(&bytes), tensor.sha256, "{at}: {}", tensor.name);
    }
    if form != Form::SafeTensors {
        for (a, b) in expected.iter().zip(expected.iter().skip(1)) {
            let [x, y] = [a, b].map(|tensor| state.tensor(&tensor.name).unwrap().storage());
            assert_eq!(
                x.is_same(y),
                a.storage == b.storage,
                "{at}: {} and {}",
                a.name,
                b.name
            );
        }
    }
}

#[test]
fn every_fixture_opens_in_every_form() {
    let mut judged = 0;
    for fixture in Fixture::all() {
        for (form, path) in fixture.files() {
            check(&open(&path), &fixture, form);
            judged += 1;
        }
    }
    assert!(judged > 150, "only {judged} files were judged");
    println!("{judged} checkpoint files judged");
}

#[test]
fn every_file_of_the_corpus_belongs_to_a_fixture() {
    let judged: BTreeSet<PathBuf> = Fixture::all()
        .iter()
        .flat_map(Fixture::files)
        .map(|(_, path)| path)
        .collect();
    for version in LIBRARY_VERSIONS {
        let dir = fixtures_dir().join(format!("nnx-{version}/checkpoints"));
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let bare = path.file_stem().is_some_and(|name| name == BARE_STATE_DICT);
            let sidecar = path
                .extension()
                .is_some_and(|extension| extension == "json");
            assert!(
                bare || sidecar || judged.contains(&path),
                "{} not judged",
                path.display()
            );
        }
    }
}

#[test]
fn a_bare_state_dict_is_a_typed_absence() {
    for version in LIBRARY_VERSIONS {
        let path = fixtures_dir().join(format!("nnx-{version}/checkpoints/export_state_dict.pt"));
        let error = NNCheckpoint::from_file(&path).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::NotNNCheckpoint { .. }),
            "{error}"
        );
        assert_eq!(error.path(), Some(&*path));
    }
    let error = NNCheckpoint::from_file(fixtures_dir().join("nothing/here.pt")).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotFound), "{error}");
}

#[test]
fn the_smallest_pickle_that_python_accepts_opens() {
    let checkpoint = open(&fixtures_dir().join("minimal/minimal_checkpoint.pt"));
    assert!(checkpoint.net_state.tensors().count() > 0);
}

#[test]
fn live_parameters_and_plain_dicts_stay_what_they_are() {
    let dir = fixtures_dir().join("nnx-0.4.1/checkpoints");
    let live = open(&dir.join("state_live_parameters.pt"));
    assert!(live.net_state.tensors().all(|(_, tensor)| {
        tensor.class() == nnx_checkpoint::TensorClass::Parameter && tensor.requires_grad()
    }));
    let plain = open(&dir.join("state_views_plain_dict.pt"));
    assert_eq!(plain.net_state.mapping(), DictKind::Dict);
    let extra = open(&dir.join("state_extra_non_tensor.pt"));
    assert_eq!(
        extra.net_state.other_names().collect::<Vec<_>>(),
        ["_extra_state"]
    );
}

/// Every fixture, from every form into every form that can hold it.
#[test]
fn what_is_written_reads_back_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (mut written, mut refused) = (0, Vec::new());
    for fixture in Fixture::all() {
        for (form, path) in fixture.files() {
            let checkpoint = open(&path);
            let at = format!("{} from {form:?}", fixture.label());

            let target = dir.path().join("checkpoint.pt");
            checkpoint
                .to_file(&target, CheckpointFormat::Pickle)
                .unwrap();
            check(&open(&target), &fixture, form);

            let target = dir.path().join("checkpoint.safetensors");
            std::fs::remove_file(&target).ok();
            match checkpoint.to_file(&target, CheckpointFormat::SafeTensors) {
                Ok(()) if fixture.sidecar.get("files").find("safetensors").is_some() => {
                    check(&open(&target), &fixture, Form::SafeTensors);
                }
                Ok(()) => {
                    let again = open(&target);
                    assert_eq!(again.model_params, checkpoint.model_params, "{at}");
                    assert_eq!(again.idp.state(), checkpoint.idp.state(), "{at}");
                }
                Err(error) => {
                    assert!(
                        matches!(error.kind(), ErrorKind::Unsupported { .. }),
                        "{at}: {error}"
                    );
                    assert!(!target.exists(), "{at}");
                    refused.push(fixture.name);
                    break;
                }
            }
            written += 1;
        }
    }
    // The reference refuses these too: values that are no tensors, and runtime modules.
    refused.dedup();
    refused.sort();
    assert_eq!(
        refused,
        [
            "runtime_module",
            "state_extra_non_tensor",
            "state_extra_non_tensor"
        ]
    );
    println!("{written} checkpoint files written in both forms and read back");
}

#[test]
fn values_that_are_no_tensors_survive_a_rewrite() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("again.pt");
    let path = fixtures_dir().join("nnx-0.4.1/checkpoints/state_extra_non_tensor.pt");
    open(&path)
        .to_file(&target, CheckpointFormat::Pickle)
        .unwrap();
    let again = open(&target);
    let Some(StateValue::Object(object)) = again.net_state.get("_extra_state") else {
        panic!("{:?}", again.net_state.get("_extra_state"));
    };
    let graph = object.whole().graph();
    let labels = graph
        .get(object.id(), "labels")
        .and_then(|id| graph.sequence(id))
        .unwrap();
    let labels: Vec<_> = labels.iter().map(|&id| graph.text(id)).collect();
    assert_eq!(labels, [Some("class-a"), Some("class-b")]);
    assert_eq!(
        graph.get(object.id(), "n").and_then(|id| graph.int(id)),
        Some(3)
    );
}

#[test]
fn unknown_keys_of_a_state_are_written_back() {
    let dir = tempfile::tempdir().unwrap();
    let [first, second] = ["a.safetensors", "b.safetensors"].map(|name| dir.path().join(name));
    let path = fixtures_dir().join("nnx-0.4.1/checkpoints/ff_relu.safetensors");
    let mut bytes = std::fs::read(path).unwrap();
    let (from, to) = (
        br#"\"activation\": \"relu\"}"#,
        br#"\"activation\": \"relu\", \"new\": 1}"#,
    );
    let at = bytes
        .windows(from.len())
        .position(|window| window == from)
        .unwrap();
    bytes.splice(at..at + from.len(), to.iter().copied());
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap());
    let header = header + (to.len() - from.len()) as u64;
    bytes[..8].copy_from_slice(&header.to_le_bytes());
    std::fs::write(&first, bytes).unwrap();

    let checkpoint = open(&first);
    let params = checkpoint.net_params.as_ref().unwrap();
    assert!(!params.state().contains_key("new"));
    checkpoint
        .to_file(&second, CheckpointFormat::SafeTensors)
        .unwrap();
    let full: State = open(&second).net_params.unwrap().full_state();
    assert_eq!(full.get("new"), Some(&Value::Int(1)));
}
