//! Checkpoints that Python opens without a question: with classes of others, values without end,
//! fields that no constructor would take, or what only a newer version knows.

use bytes::Bytes;
use nnx_checkpoint::pickle::{self, Call, Graph, Node, NodeId, Object, Text};
use nnx_checkpoint::torch::TorchObject;
use nnx_checkpoint::zip::{ZipArchive, ZipWriter};
use nnx_checkpoint::{CheckpointFormat, ErrorKind, Limits, NNCheckpoint, Source};
use nnx_params::Value;
use nnx_tests::{Json, fixtures_dir};

#[test]
fn every_damaged_checkpoint_is_judged() {
    let dir = fixtures_dir().join("damaged");
    let expected = Json::read(&dir.join("expected.json"));
    let mut judged = 0;
    for name in expected.state().keys() {
        let case = expected.get(name);
        let outcome = NNCheckpoint::from_file(dir.join(name));
        let Some(reason) = case.find("error") else {
            outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
            judged += 1;
            continue;
        };
        let error = outcome.expect_err(name);
        let fits = match reason.text() {
            "forbidden_global" => matches!(error.kind(), ErrorKind::UnsafeGlobal { .. }),
            "limit" => matches!(error.kind(), ErrorKind::LimitExceeded { .. }),
            "unsupported" => matches!(error.kind(), ErrorKind::Unsupported { .. }),
            "params" => matches!(error.kind(), ErrorKind::InvalidConfiguration(_)),
            "any" => matches!(
                error.kind(),
                ErrorKind::InvalidConfiguration(_) | ErrorKind::Malformed { .. }
            ),
            other => panic!("{name}: no such reason `{other}`"),
        };
        assert!(fits, "{name}: {:?}", error.kind());
        let text = error.to_string();
        if let Some(says) = case.find("says") {
            assert!(text.contains(says.text()), "{name}: {text}");
        }
        assert!(error.offset().is_some(), "{name} at no offset: {text}");
        let entry = format!("{}/data.pkl", name.trim_end_matches(".pt"));
        assert_eq!(error.entry(), Some(&*entry), "{name}: {text}");
        assert_eq!(error.path(), Some(&*dir.join(name)));
        judged += 1;
    }
    assert!(judged > 35, "only {judged} files were judged");
    let files = std::fs::read_dir(&dir).unwrap().count();
    // All but the script and its expectations.
    assert_eq!(judged, files - 2, "every file of the folder is judged");
    println!("{judged} damaged checkpoints judged");
}

/// Numbers that are NumPy scalars, as scikit-learn's metrics are; the real library keeps them so.
#[test]
fn scalars_of_numpy_are_numbers() {
    let dir = fixtures_dir().join("numpy-scalars");
    let expected = Json::read(&dir.join("expected.json"));
    for name in expected.state().keys() {
        let checkpoint = NNCheckpoint::from_file(dir.join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let idp = checkpoint.idp.state();
        let expected = expected.get(name);
        check_number(name, idp.get("lr"), &expected.get("lr"));
        check_number(name, idp.get("iter_idx"), &expected.get("iter_idx"));
        let Some(Value::Map(edp)) = idp.get("train_edp") else {
            panic!("{name}: {idp:?}");
        };
        check_number(name, edp.get("accuracy"), &expected.get("accuracy"));
        let Some(Value::Map(extra)) = edp.get("extra") else {
            panic!("{name}: {edp:?}");
        };
        check_number(name, extra.get("auc"), &expected.get("auc"));
    }
    assert_eq!(expected.state().len(), 8);
    let error = NNCheckpoint::from_file(dir.join("str.pt")).unwrap_err();
    assert!(
        error.to_string().contains("got one of dtype `U3`"),
        "{error}"
    );
}

/// Floats are in the side-car as Python's `float.hex()`.
#[track_caller]
fn check_number(name: &str, found: Option<&Value>, expected: &Json) {
    let found = match found {
        Some(Value::Float(value)) => Value::Str(hex(*value)),
        Some(other) => other.clone(),
        None => panic!("{name}: no value"),
    };
    assert_eq!(found, expected.0, "{name}");
}

/// Python's `float.hex()`.
fn hex(value: f64) -> String {
    let bits = value.to_bits();
    let (exponent, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
    match exponent {
        0x7ff => "inf".to_owned(),
        0 => "0x0.0p+0".to_owned(),
        _ => format!("0x1.{fraction:013x}p{:+}", exponent as i64 - 1023),
    }
}

/// A newer version's values are kept: the graph written back is the graph that was read.
#[test]
fn what_a_newer_version_adds_to_a_pickle_is_written_back() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("again.pt");
    for class in [
        "NNCheckpoint",
        "NNParams",
        "NNModelParams",
        "NNIterationDataPoint",
        "NNEvaluationDataPoint",
    ] {
        let root = format!("newer_{class}");
        let source = fixtures_dir().join(format!("damaged/{root}.pt"));
        let checkpoint = NNCheckpoint::from_file(&source).unwrap();
        checkpoint
            .to_file(&target, CheckpointFormat::Pickle)
            .unwrap();
        let mut again = Vec::new();
        TorchObject::open(&target)
            .unwrap()
            .write_to(&mut again, &root)
            .unwrap();
        assert!(
            again == std::fs::read(&source).unwrap(),
            "{class} lost something"
        );

        let refused = dir.path().join("again.safetensors");
        let error = checkpoint
            .to_file(&refused, CheckpointFormat::SafeTensors)
            .unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Unsupported { .. }),
            "{class}: {error}"
        );
        assert!(!refused.exists());
    }
}

#[test]
fn keys_that_only_a_newer_version_knows_are_not_lost_in_a_pickle() {
    let dir = tempfile::tempdir().unwrap();
    let path = fixtures_dir().join("nnx-0.4.1/checkpoints/ff_relu.safetensors");
    let checkpoint = NNCheckpoint::from_file(path).unwrap();
    let mut state = checkpoint.net_params.as_ref().unwrap().state();
    state.insert("new", 1);
    let mut newer = checkpoint.clone();
    newer.net_params = Some(nnx_params::NetParams::resolve_from_state(&state).unwrap());
    let target = dir.path().join("newer.pt");
    let error = newer
        .to_file(&target, CheckpointFormat::Pickle)
        .unwrap_err();
    assert!(error.to_string().contains("net_params"), "{error}");
    assert!(!target.exists());
    checkpoint
        .to_file(&target, CheckpointFormat::Pickle)
        .unwrap();
}

/// A checkpoint of 0.4.1 whose pickle was changed, as the bytes of a file.
fn with_pickle(name: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Bytes {
    let path = fixtures_dir().join(format!("nnx-0.4.1/checkpoints/{name}.pt"));
    let file = Source::open(path).unwrap();
    let archive = ZipArchive::parse(file.bytes(), &Limits::default()).unwrap();
    let mut change = Some(change);
    let mut zip = ZipWriter::new(Vec::new(), "archive");
    for entry in archive.entries() {
        let name = entry.name().strip_prefix("archive/").unwrap();
        let mut data = archive.data(entry).unwrap().to_vec();
        match name {
            "data.pkl" => data = change.take().unwrap()(data),
            ".data/serialization_id" => continue,
            _ => {}
        }
        zip.record(name, &data).unwrap();
    }
    zip.finish().unwrap().into()
}

/// [`with_pickle`] for a change of the objects.
fn with_graph(name: &str, change: impl FnOnce(&mut Graph)) -> Bytes {
    with_pickle(name, |data| {
        let (mut graph, _) = pickle::read(&data, &Limits::default()).unwrap();
        change(&mut graph);
        pickle::write(&graph, &Limits::default()).unwrap()
    })
}

/// The first object that a call of that class or function makes.
#[track_caller]
fn made_by(graph: &Graph, name: &str) -> NodeId {
    let found = graph.nodes().find(|(_, node)| match node {
        Node::Object(object) => {
            let (Call::Reduce { callable, .. }
            | Call::New {
                class: callable, ..
            }) = object.call
            else {
                return false;
            };
            graph
                .global(callable)
                .is_some_and(|(_, found)| found == name)
        }
        _ => false,
    });
    found.unwrap_or_else(|| panic!("no `{name}`")).0
}

fn object_mut(graph: &mut Graph, id: NodeId) -> &mut Object {
    match graph.node_mut(id) {
        Node::Object(object) => object,
        other => panic!("{other:?} is no object"),
    }
}

#[track_caller]
fn check_refused(file: &Bytes, says: &str) {
    let error = NNCheckpoint::from_bytes(file).unwrap_err();
    assert!(error.to_string().contains(says), "{error}");
    assert!(error.offset().is_some(), "no offset: {error}");
}

/// Python would take each of these and hold something else than what we would have read.
#[test]
fn what_would_be_read_otherwise_than_in_python_is_refused() {
    let unchanged = with_graph("ff_relu", |_| {});
    NNCheckpoint::from_bytes(&unchanged).unwrap();

    // A second list of values for the whole checkpoint: EMPTY_LIST, NONE, APPEND, BUILD.
    let file = with_pickle("ff_relu", |mut data| {
        assert_eq!(data.pop(), Some(b'.'));
        data.extend_from_slice(b"]Nab.");
        data
    });
    check_refused(&file, "after it was made");

    // Arguments, items and pairs where NNx has none.
    for (name, says) in [
        ("NNParams", "NNParams"),
        ("NNModelParams", "NNModelParams"),
        ("NNIterationDataPoint", "NNIterationDataPoint"),
        ("_FrozenMetrics", "plain data"),
    ] {
        let file = with_graph("ff_relu", |graph| {
            let argument = graph.push(Node::Int(1));
            let args = graph.push(Node::Tuple([argument].into()));
            let id = made_by(graph, name);
            match &mut object_mut(graph, id).call {
                Call::New { args: own, .. } => *own = args,
                other => panic!("{other:?}"),
            }
        });
        check_refused(&file, says);
        let file = with_graph("ff_relu", |graph| {
            let (key, value) = (graph.push(Node::Int(1)), graph.push(Node::Int(2)));
            let id = made_by(graph, name);
            object_mut(graph, id).pairs.push((key, value));
        });
        check_refused(&file, says);
    }

    // A state dict made of pairs, which would be lost.
    let file = with_graph("ff_relu", |graph| {
        let pairs = graph.push(Node::List(Vec::new()));
        let args = graph.push(Node::Tuple([pairs].into()));
        let id = made_by(graph, "OrderedDict");
        match &mut object_mut(graph, id).call {
            Call::Reduce { args: own, .. } => *own = args,
            other => panic!("{other:?}"),
        }
    });
    check_refused(&file, "state dict");

    // Metrics whose two copies differ.
    let file = with_graph("idp_extra_unicode", |graph| {
        let id = made_by(graph, "_FrozenMetrics");
        let state = graph.object(id).unwrap().state.unwrap();
        let slots = graph.sequence(state).unwrap()[1];
        let values = graph.get(slots, "_values").unwrap();
        let other = graph.push(Node::Float(99.0));
        match graph.node_mut(values) {
            Node::Dict(pairs) => pairs[0].1 = other,
            other => panic!("{other:?}"),
        }
    });
    check_refused(&file, "differ");
}

#[test]
fn a_long_text_that_is_shared_many_times_meets_a_limit() {
    let file = with_graph("transforms_opaque", |graph| {
        let id = made_by(graph, "NNCheckpointTransform");
        let state = graph.object(id).unwrap().state.unwrap();
        let options = graph.sequence(state).unwrap()[2];
        let text = graph.push(Node::Str(Text::Utf8("x".repeat(1 << 20).into())));
        let key = graph.push(Node::Str(Text::Utf8("texts".into())));
        let list = graph.push(Node::List(vec![text; 20_000]));
        match graph.node_mut(options) {
            Node::Dict(pairs) => pairs.push((key, list)),
            other => panic!("{other:?}"),
        }
    });
    let error = NNCheckpoint::from_bytes(&file).unwrap_err();
    assert!(error.to_string().contains("max_values"), "{error}");
}

#[test]
fn metadata_that_is_not_of_nnx_is_written_back() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("again.safetensors");
    let path = fixtures_dir().join("sniff/st_extra_metadata");
    let mut checkpoint = NNCheckpoint::from_file(path).unwrap();
    assert!(!checkpoint.extra_metadata.is_empty());
    checkpoint
        .to_file(&target, CheckpointFormat::SafeTensors)
        .unwrap();
    let again = NNCheckpoint::from_file(&target).unwrap();
    assert_eq!(again.extra_metadata, checkpoint.extra_metadata);

    let pickle = dir.path().join("again.pt");
    let error = checkpoint
        .to_file(&pickle, CheckpointFormat::Pickle)
        .unwrap_err();
    assert!(error.to_string().contains("extra_metadata"), "{error}");
    checkpoint.extra_metadata.clear();
    checkpoint
        .to_file(&pickle, CheckpointFormat::Pickle)
        .unwrap();
}

/// NNx 0.4.1 saves a model without a net as a pickle, and refuses the safetensors form.
#[test]
fn a_checkpoint_without_a_net_is_written_as_a_pickle_only() {
    let dir = tempfile::tempdir().unwrap();
    let path = fixtures_dir().join("nnx-0.4.1/checkpoints/ff_relu.pt");
    let mut checkpoint = NNCheckpoint::from_file(path).unwrap();
    checkpoint.model_params = nnx_params::NNModelParams::builder(None).build().unwrap();
    let target = dir.path().join("none.pt");
    checkpoint
        .to_file(&target, CheckpointFormat::Pickle)
        .unwrap();
    let again = NNCheckpoint::from_file(&target).unwrap();
    assert_eq!(again.model_params, checkpoint.model_params);
    let refused = dir.path().join("none.safetensors");
    assert!(
        checkpoint
            .to_file(&refused, CheckpointFormat::SafeTensors)
            .is_err()
    );
}
