//! Files that are made to hurt: nothing panics, hangs or grows without bound.

use std::fs;

use nnx_checkpoint::CheckpointFormat;
use nnx_checkpoint::torch::TorchBuilder;
use nnx_params::Checkpoints;
use nnx_run::history::from_csv;
use nnx_run::yaml::from_yaml;
use nnx_run::{CheckpointStore, Data, ErrorKind, NNRun, TrainingState};
use nnx_tests::{LIBRARY_VERSIONS, fixtures_dir};

use super::support::{checkpoint, copy_of, read};

#[test]
fn an_alias_bomb_is_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let before = level - 1;
        let aliases = vec![format!("*a{before}"); 9].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let error = from_yaml(&text).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::LimitExceeded { .. }),
        "{error}"
    );
}

#[test]
fn deep_and_large_yaml_is_refused() {
    for text in [
        "[".repeat(100_000),
        "a: ".repeat(100_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        "{a: ".repeat(100_000),
        format!("k: \"{}", "\\x".repeat(100_000)),
        "x".repeat(5 << 20),
        "!a ".repeat(100_000),
        "&a ".repeat(100_000),
        "*a ".repeat(100_000),
        "#".repeat(1 << 20),
        "\t".repeat(1 << 20),
        format!("k: '{}'", " \n".repeat(1 << 18)),
        "k: |\n".to_owned() + &"\n".repeat(1 << 20),
    ] {
        let _ = from_yaml(&text);
    }
}

#[test]
fn a_history_of_wide_headers_and_short_rows_is_read() {
    let mut text = ",lr,iter_idx,epoch_idx,batch_idx".to_owned();
    for column in 0..100_000 {
        text.push_str(&format!(",c{column}"));
    }
    text.push('\n');
    text.push_str(&"0,1,2,3,4\n".repeat(100_000));
    let records = from_csv(text.as_bytes()).unwrap();
    assert_eq!(records.len(), 100_000);
}

/// Every file of a run cut at many lengths and with bits flipped: an error, or a run, and no panic.
#[test]
fn damaged_runs_are_errors() {
    for version in LIBRARY_VERSIONS {
        let root = copy_of(version);
        let expected = read(version, "expected.json");
        let id = expected.get("child_run_id");
        let folder = root.path().join("runs").join(id.text());
        for name in ["run.yaml", "idps.csv", "metadata.yaml"] {
            let path = folder.join(name);
            let whole = fs::read(&path).unwrap();
            for length in 0..whole.len() {
                fs::write(&path, &whole[..length]).unwrap();
                let _ = NNRun::load(id.text(), root.path());
                let mut flipped = whole.clone();
                flipped[length] ^= 1 << (length % 8);
                fs::write(&path, &flipped).unwrap();
                let _ = NNRun::load(id.text(), root.path());
            }
            fs::write(&path, &whole).unwrap();
        }
        assert!(NNRun::load(id.text(), root.path()).is_ok());
    }
}

#[test]
fn damaged_training_states_are_errors() {
    let root = copy_of("0.4.1");
    let expected = read("0.4.1", "expected.json");
    let id = expected.get("child_run_id");
    let store = CheckpointStore::new(id.text(), root.path()).unwrap();
    let tag = Checkpoints::Last.into();
    let digests = store.digests(&tag).unwrap();
    let name = digests.keys().find(|name| name.len() > 30).unwrap();
    let path = root
        .path()
        .join("runs")
        .join(id.text())
        .join("checkpoints")
        .join(name);
    let whole = fs::read(&path).unwrap();
    for step in 0..400 {
        let at = step * whole.len() / 400;
        fs::write(&path, &whole[..at]).unwrap();
        assert!(store.load_training_state(&tag).is_err());
        assert!(store.verify(&tag).is_err());
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (step % 8);
        fs::write(&path, &flipped).unwrap();
        if let Ok(Some(state)) = store.load_training_state(&tag) {
            let _ = state.optimizer();
            let _ = state.rng().map(|rng| rng.train_generators().len());
        }
        assert!(store.verify(&tag).is_err());
    }
    fs::write(&path, &whole).unwrap();
    assert!(store.verify(&tag).is_ok());
}

#[test]
fn manifests_of_any_content_are_errors() {
    let root = copy_of("0.4.1");
    let expected = read("0.4.1", "expected.json");
    let id = expected.get("run_id");
    let store = CheckpointStore::new(id.text(), root.path()).unwrap();
    let tag = Checkpoints::Last.into();
    let path = root.path().join("runs").join(id.text());
    let path = path.join("checkpoints/last.pt.manifest.json");
    let format = "\"format\": \"nnx.resume-point/1\"";
    for text in [
        "",
        "[]",
        "{",
        &"[".repeat(100_000),
        &format!("{{{format}}}"),
        &format!("{{{format}, \"files\": []}}"),
        &format!("{{{format}, \"files\": {{\"last.pt\": 1}}}}"),
        &format!("{{{format}, \"files\": {{\"..\": \"x\", \"last.pt\": \"x\"}}}}"),
        &format!("{{{format}, \"files\": {{\"last.pt\": \"x\"}}, \"checkpoint_id\": [1]}}"),
    ] {
        fs::write(&path, text).unwrap();
        let error = store.verify(&tag).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::ResumePoint { .. }),
            "{text}: {error}"
        );
    }
}

/// The state of an unstamped checkpoint, of whatever file.
fn state_of(write: impl FnOnce(&std::path::Path)) -> nnx_run::Result<Option<TrainingState>> {
    let root = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new("x", root.path()).unwrap();
    let last = store.path(&Checkpoints::Last.into());
    let unstamped = checkpoint(1);
    unstamped.to_file(&last, CheckpointFormat::Pickle).unwrap();
    write(&last.with_file_name("last.pt.opt.pt"));
    store.load_training_state(&Checkpoints::Last.into())
}

#[test]
fn a_training_state_that_shares_without_end_is_refused() {
    let bomb = state_of(|path| {
        let mut builder = TorchBuilder::new();
        let mut bomb = builder.int(0);
        for _ in 0..30 {
            bomb = builder.list(vec![bomb; 10]);
        }
        let key = builder.text("state");
        let root = builder.dict(vec![(key, bomb)]);
        builder.finish(root).save(path).unwrap();
    });
    let error = bomb.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::LimitExceeded { .. }),
        "{error}"
    );

    let deep = state_of(|path| {
        let mut builder = TorchBuilder::new();
        let mut deep = builder.int(0);
        for _ in 0..900 {
            deep = builder.list(vec![deep]);
        }
        let key = builder.text("state");
        let root = builder.dict(vec![(key, deep)]);
        builder.finish(root).save(path).unwrap();
    });
    let error = deep.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::LimitExceeded { .. }),
        "{error}"
    );
}

#[test]
fn any_file_of_pytorch_beside_a_checkpoint_is_an_error_or_a_state() {
    let folder = fixtures_dir().join("torch");
    let (mut states, mut errors, mut written) = (0, 0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|suffix| suffix != "pt") {
            continue;
        }
        match state_of(|path| {
            fs::copy(&file, path).unwrap();
        }) {
            // Its contents are kept, and written back if this workspace can write them.
            Ok(state) => {
                states += 1;
                let root = tempfile::tempdir().unwrap();
                let store = CheckpointStore::new("x", root.path()).unwrap();
                let tag = Checkpoints::Last.into();
                if store.save(&tag, &checkpoint(1), state.as_ref()).is_ok() {
                    written += 1;
                    let again = store.load_training_state(&tag).unwrap().unwrap();
                    let keys = |state: &TrainingState| {
                        let optimizer = state.get("optimizer").and_then(Data::pairs).unwrap();
                        let keys = optimizer
                            .iter()
                            .map(|(key, _)| key.as_str().unwrap().to_owned());
                        keys.collect::<Vec<_>>()
                    };
                    assert_eq!(keys(&again), keys(&state.unwrap()), "{}", file.display());
                }
            }
            Err(_) => errors += 1,
        }
    }
    println!(
        "{states} files of PyTorch's taken for an old optimizer's state, {written} of them written \
         back, {errors} refused"
    );
    assert!(states > 100 && written > 100 && errors > 20);
}
