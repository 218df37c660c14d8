//! Checkpoints that Python opens without a question: with classes of others, values without end,
//! fields that no constructor would take, or what only a newer version knows.

use nnx_checkpoint::torch::TorchObject;
use nnx_checkpoint::{CheckpointFormat, ErrorKind, NNCheckpoint};
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
            "forbidden_global" => matches!(error.kind(), ErrorKind::ForbiddenGlobal { .. }),
            "limit" => matches!(error.kind(), ErrorKind::Limit { .. }),
            "unsupported" => matches!(error.kind(), ErrorKind::Unsupported { .. }),
            "params" => matches!(error.kind(), ErrorKind::Params(_)),
            "any" => matches!(
                error.kind(),
                ErrorKind::Params(_) | ErrorKind::Malformed { .. }
            ),
            other => panic!("{name}: no such reason `{other}`"),
        };
        assert!(fits, "{name}: {:?}", error.kind());
        let text = error.to_string();
        if let Some(says) = case.find("says") {
            assert!(text.contains(says.text()), "{name}: {text}");
        }
        assert!(error.offset().is_some(), "{name} at no offset: {text}");
        assert_eq!(error.path(), Some(&*dir.join(name)));
        judged += 1;
    }
    assert!(judged > 35, "only {judged} files were judged");
    let files = std::fs::read_dir(&dir).unwrap().count();
    // All but the script and its expectations.
    assert_eq!(judged, files - 2, "every file of the folder is judged");
    println!("{judged} damaged checkpoints judged");
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
