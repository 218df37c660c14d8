//! The pointer to the best run, and the reservation of a run.

use std::fs;
use std::path::Path;

use nnx_params::{Checkpoints, NNEvaluationDataPoint};
use nnx_run::{ErrorKind, NNRun};

use super::support::{checkpoint, idp, link, run};

/// Saves a run whose best checkpoint has that score.
fn save(root: &Path, salt: &str, error: f64) -> String {
    let run = run(salt).with_idps([idp(0, error)]);
    let store = run.store(root).unwrap();
    let mut best = checkpoint(0);
    best.idp = idp(0, error);
    run.save_history(root).unwrap();
    store.save(&Checkpoints::Best.into(), &best, None).unwrap();
    run.save(root).unwrap();
    run.id().to_owned()
}

#[track_caller]
fn check(root: &Path, expected: Option<&str>) {
    assert_eq!(NNRun::best_id(root).unwrap().as_deref(), expected);
}

#[test]
fn the_pointer_moves_on_a_strictly_smaller_score() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    // A run without the checkpoint `best` is never pointed to.
    run("none").save(root).unwrap();
    check(root, None);
    let first = save(root, "a", 0.5);
    check(root, Some(&first));
    save(root, "b", 0.5);
    check(root, Some(&first));
    let better = save(root, "c", 0.25);
    check(root, Some(&better));
    save(root, "d", f64::NAN);
    check(root, Some(&better));
    #[cfg(unix)]
    {
        let target = fs::read_link(root.join("runs/best")).unwrap();
        assert_eq!(target.to_str(), Some(better.as_str()));
    }
    // When the pointed run gets worse and is saved again, all are compared.
    save(root, "c", 0.75);
    let winner = NNRun::best_id(root).unwrap().unwrap();
    assert!(winner != better);
}

#[test]
fn both_forms_of_the_pointer_are_read_and_replaced() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let id = save(root, "a", 0.5);
    let pointer = root.join("runs/best");
    for text in [
        id.clone(),
        format!("runs/{id}\n"),
        format!("C:\\runs\\{id}"),
    ] {
        let _ = fs::remove_file(&pointer);
        let _ = fs::remove_dir_all(&pointer);
        fs::create_dir(&pointer).unwrap();
        fs::write(pointer.join("POINTER.txt"), text).unwrap();
        check(root, Some(&id));
        assert_eq!(NNRun::best(root).unwrap().unwrap().id(), id);
    }
    let better = save(root, "b", 0.1);
    check(root, Some(&better));
    // A pointer to nothing, or to a text that is no id, names no run.
    fs::remove_file(&pointer).unwrap();
    link("gone", &pointer);
    assert!(NNRun::best(root).unwrap().is_none());
    fs::remove_file(&pointer).unwrap();
    link("..", &pointer);
    check(root, None);
    // It is elected anew at the next save.
    save(root, "a", 0.5);
    check(root, Some(&better));
}

#[test]
fn a_best_beyond_the_committed_epoch_does_not_count() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let run = run("a");
    let lease = run.reserve(root, false).unwrap();
    let store = run.store(root).unwrap();
    store
        .save(&Checkpoints::Best.into(), &checkpoint(1), None)
        .unwrap();
    run.save(root).unwrap();
    check(root, None);
    store
        .save(&Checkpoints::Last.into(), &checkpoint(1), None)
        .unwrap();
    run.save(root).unwrap();
    check(root, Some(run.id()));
    drop(lease);
    check(root, Some(run.id()));
}

#[test]
fn a_task_without_a_usable_validation_has_no_score() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let run = run("a");
    let store = run.store(root).unwrap();
    let mut best = checkpoint(0);
    let empty = NNEvaluationDataPoint::builder().task_record("categorical", 0);
    best.idp = best.idp.with_val_edp(empty.build().unwrap());
    run.save_history(root).unwrap();
    store.save(&Checkpoints::Best.into(), &best, None).unwrap();
    run.save(root).unwrap();
    // It can be pointed to, as the first one, and any score beats it.
    check(root, Some(run.id()));
    let other = save(root, "b", 1.0);
    check(root, Some(&other));
}

#[test]
fn a_run_is_reserved_once_and_released_when_nothing_came_of_it() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let run = run("a");
    let folder = root.join("runs").join(run.id());
    let lease = run.reserve(root, false).unwrap();
    assert_eq!(lease.folder(), folder);
    assert_eq!(
        fs::read_to_string(folder.join(".history-committed-by-last")).unwrap(),
        "1\n"
    );
    drop(lease);
    assert!(!folder.exists());

    let lease = run.reserve(root, false).unwrap();
    run.save(root).unwrap();
    drop(lease);
    assert!(folder.join("run.yaml").exists());
    let error = run.reserve(root, false).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::RunExists { id } if id == run.id()));
}

#[test]
fn overwriting_the_best_run_hands_the_pointer_on() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let other = save(root, "other", 0.5);
    let best = save(root, "best", 0.1);
    check(root, Some(&best));
    let lease = run("best").reserve(root, true).unwrap();
    check(root, Some(&other));
    assert!(!lease.folder().join("run.yaml").exists());
}
