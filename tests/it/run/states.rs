//! Every training state beside a checkpoint is read and judged, with a manifest and without.

use std::fs;
use std::path::{Path, PathBuf};

use nnx_checkpoint::torch::TorchBuilder;
use nnx_params::Checkpoints;
use nnx_run::{CheckpointStore, CheckpointTag, ErrorKind, TrainingStateFile, TrainingStateRole};
use nnx_tests::{Json, copy_folder};
use tempfile::TempDir;

use super::support::{checkpoint, copy_of, folder, read, run, training_state};

fn last() -> CheckpointTag {
    Checkpoints::Last.into()
}

fn role(files: &[TrainingStateFile], role: TrainingStateRole) -> Vec<&TrainingStateFile> {
    files.iter().filter(|file| file.role == role).collect()
}

/// The run of 0.2.3, which has no manifests, and the folder of its checkpoints.
fn early() -> (TempDir, CheckpointStore, PathBuf) {
    let root = copy_of("0.2.3");
    let id = read("0.2.3", "expected.json").get("run_id");
    let store = CheckpointStore::new(id.text(), root.path()).unwrap();
    let checkpoints = store.path(&last()).parent().unwrap().to_path_buf();
    (root, store, checkpoints)
}

/// The name of the generation-addressed state of a checkpoint.
fn own_name(checkpoints: &Path, tag: &str) -> String {
    let prefix = format!("{tag}.pt.opt.");
    let names = fs::read_dir(checkpoints).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut own = names.filter(|name| name.starts_with(&prefix) && name.len() > prefix.len() + 2);
    own.next().unwrap()
}

#[test]
fn every_case_is_judged_as_python_decides_it() {
    for case in read("0.4.1", "sidecars.json").items() {
        let name = case.get("name");
        let at = name.text();
        let root = tempfile::tempdir().unwrap();
        copy_folder(&folder("0.4.1").join("sidecars").join(at), root.path());
        let store = CheckpointStore::new("x", root.path()).unwrap();
        let verified = store.verify(&last());
        let files = store.training_state_files(&last()).unwrap();
        let own = role(&files, TrainingStateRole::Own);
        let is_result = case.find("result").is_some_and(|it: Json| !it.0.is_none());
        if case.find("error").is_some() {
            let [own] = own.as_slice() else {
                panic!("{at}: {files:?}");
            };
            let kinds = [own.error.as_ref().unwrap(), &verified.unwrap_err()]
                .map(|error| matches!(error.kind(), ErrorKind::TrainingState { .. }));
            assert_eq!(kinds, [true, true], "{at}: {files:?}");
        } else {
            assert!(verified.unwrap().is_none(), "{at}");
            assert_eq!(own.len(), usize::from(is_result), "{at}: {files:?}");
            let errors = files.iter().filter(|file| file.error.is_some()).count();
            assert_eq!(errors, 0, "{at}: {files:?}");
        }
        if own.is_empty() {
            let there = [case.get("fixed_sidecar"), case.get("generation_sidecar")];
            let there = there.iter().filter(|it| it.0 == true.into()).count();
            let left = role(&files, TrainingStateRole::Leftover).len();
            assert_eq!(left, there, "{at}: {files:?}");
        }
    }
}

#[test]
fn sound_runs_have_own_states_and_copies() {
    for version in ["0.2.3", "0.4.1"] {
        let root = copy_of(version);
        let expected = read(version, "expected.json");
        let id = expected.get("run_id");
        let store = CheckpointStore::new(id.text(), root.path()).unwrap();
        let tags = store.tags().unwrap();
        assert_eq!(store.state_tags().unwrap(), tags);
        for tag in tags {
            let files = store.training_state_files(&tag).unwrap();
            let roles: Vec<_> = files.iter().map(|file| file.role).collect();
            let own_and_copy = [TrainingStateRole::Own, TrainingStateRole::Copy];
            assert_eq!(roles, own_and_copy, "{version} {tag}");
            assert!(files.iter().all(|file| file.error.is_none()), "{files:?}");
        }
    }
}

/// A byte of a tensor, which no structure of the file depends on.
#[test]
fn a_changed_byte_in_a_state_without_manifest_is_found() {
    let (_root, store, checkpoints) = early();
    let path = checkpoints.join(own_name(&checkpoints, "last"));
    let whole = fs::read(&path).unwrap();
    let entry = |name: &[u8]| {
        let mut places = whole.windows(name.len()).enumerate();
        places.find(|(_, window)| *window == name).unwrap().0
    };
    // The entry's bytes begin at a multiple of 64 behind its header.
    let data = (entry(b"/data/0") + 64) / 64 * 64;
    let mut damaged = whole.clone();
    damaged[data] ^= 1;
    fs::write(&path, &damaged).unwrap();
    assert!(store.verify(&last()).is_err());
    let files = store.training_state_files(&last()).unwrap();
    let own = role(&files, TrainingStateRole::Own);
    assert!(own[0].error.is_some(), "{files:?}");
    // The copy is as it was.
    assert!(role(&files, TrainingStateRole::Copy)[0].error.is_none());
    fs::write(&path, &whole).unwrap();
    assert!(store.verify(&last()).unwrap().is_none());
}

#[test]
fn a_state_that_is_missing_or_of_another_save_is_found_without_manifest() {
    let (_root, store, checkpoints) = early();
    let own = own_name(&checkpoints, "last");
    let other = own_name(&checkpoints, "first");
    fs::copy(checkpoints.join(&other), checkpoints.join(&own)).unwrap();
    let error = store.verify(&last()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::TrainingState { .. }),
        "{error}"
    );
    fs::remove_file(checkpoints.join(&own)).unwrap();
    fs::remove_file(checkpoints.join("last.pt.opt.pt")).unwrap();
    let error = store.verify(&last()).unwrap_err();
    assert!(error.to_string().contains(&own), "{error}");
    let files = store.training_state_files(&last()).unwrap();
    assert_eq!((files.len(), files[0].name.as_str()), (1, own.as_str()));
    assert!(files[0].error.is_some());
}

#[test]
fn what_nothing_uses_is_told_and_read() {
    let (_root, store, checkpoints) = early();
    let own = own_name(&checkpoints, "best");
    // Another save's state under its own name, and one under a name that is not its own.
    let stale = own.replace("best", "last");
    fs::copy(checkpoints.join(&own), checkpoints.join(&stale)).unwrap();
    let misnamed = format!("last.pt.opt.{}.pt", "0".repeat(32));
    fs::copy(checkpoints.join(&own), checkpoints.join(&misnamed)).unwrap();
    let broken = format!("last.pt.opt.{}.pt", "f".repeat(32));
    fs::write(checkpoints.join(&broken), b"PK\x03\x04").unwrap();
    let files = store.training_state_files(&last()).unwrap();
    let left = role(&files, TrainingStateRole::Leftover);
    let left: Vec<_> = left
        .iter()
        .map(|file| (file.name.as_str(), file.error.is_some()))
        .collect();
    let mut expected = [
        (stale.as_str(), false),
        (misnamed.as_str(), true),
        (broken.as_str(), true),
    ];
    expected.sort_unstable();
    assert_eq!(left, expected);
    // They keep no training from going on.
    assert!(store.load_training_state(&last()).unwrap().is_some());
    // Without the checkpoint nothing is its own.
    fs::remove_file(checkpoints.join("last.pt")).unwrap();
    let files = store.training_state_files(&last()).unwrap();
    assert_eq!(role(&files, TrainingStateRole::Leftover).len(), files.len());
    assert!(store.state_tags().unwrap().contains(&last()));
    assert!(!store.tags().unwrap().contains(&last()));
}

/// The copy of the save before stays where a save was interrupted.
#[test]
fn a_copy_of_another_save_is_left_over() {
    let (_root, store, checkpoints) = early();
    fs::copy(
        checkpoints.join("first.pt.opt.pt"),
        checkpoints.join("last.pt.opt.pt"),
    )
    .unwrap();
    let files = store.training_state_files(&last()).unwrap();
    let copy = files
        .iter()
        .find(|file| file.name == "last.pt.opt.pt")
        .unwrap();
    assert_eq!(copy.role, TrainingStateRole::Leftover);
    assert!(copy.error.is_none(), "{copy:?}");
    fs::write(checkpoints.join("last.pt.opt.pt"), b"").unwrap();
    let files = store.training_state_files(&last()).unwrap();
    let copy = files
        .iter()
        .find(|file| file.name == "last.pt.opt.pt")
        .unwrap();
    assert_eq!(copy.role, TrainingStateRole::Copy);
    assert!(copy.error.is_some(), "{copy:?}");
}

/// Before there were versions the file was the optimizer's state alone; PyTorch's optimizers refuse
/// one without `state` and `param_groups`.
#[test]
fn a_bare_optimizer_state_has_the_keys_of_one() {
    let root = tempfile::tempdir().unwrap();
    let case = folder("0.4.1").join("sidecars/v0_legacy_optimizer_only");
    copy_folder(&case, root.path());
    let store = CheckpointStore::new("x", root.path()).unwrap();
    let path = store.path(&last()).with_file_name("last.pt.opt.pt");
    let mut builder = TorchBuilder::new();
    let (key, value) = (builder.text("state"), builder.dict(Vec::new()));
    let object = builder.dict(vec![(key, value)]);
    builder.finish(object).save(&path).unwrap();
    let files = store.training_state_files(&last()).unwrap();
    let error = files[0].error.as_ref().unwrap();
    assert_eq!(files[0].role, TrainingStateRole::Own);
    assert!(error.to_string().contains("`param_groups`"), "{error}");
}

/// A save that was stopped behind its first step is no fault of the checkpoint that is not there yet.
#[test]
fn a_state_before_its_first_checkpoint_is_left_over() {
    let root = tempfile::tempdir().unwrap();
    let run = run("a");
    let store = run.store(root.path()).unwrap();
    store
        .save(&last(), &checkpoint(1), Some(&training_state(1)))
        .unwrap();
    let path = store.path(&last());
    for name in ["last.pt", "last.pt.manifest.json", "last.pt.opt.pt"] {
        fs::remove_file(path.with_file_name(name)).unwrap();
    }
    assert!(store.verify(&last()).unwrap().is_none());
    let files = store.training_state_files(&last()).unwrap();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].role, TrainingStateRole::Leftover);
    assert!(files[0].error.is_none());
}
