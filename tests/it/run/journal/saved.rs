//! Saving a run whose history is in a journal.

use std::fs;

use nnx_run::{ErrorKind, NNRun};
use nnx_tests::Json;

use super::super::support::tree;
use super::{copy_of_all, id_of, read};

#[test]
fn a_save_leaves_the_journal_and_writes_no_table() {
    let root = copy_of_all();
    for (name, case) in read("expected.json").get("runs").state() {
        let case = Json(case.clone());
        let id = case.get("id");
        let run = NNRun::load(id.text(), root.path()).unwrap();
        let folder = root.path().join("runs").join(id.text());
        let before = tree(&folder);
        fs::write(folder.join("run.yaml"), "old").unwrap();
        run.save_history(root.path()).unwrap();
        fs::remove_file(folder.join(".run.lock")).unwrap();
        assert_eq!(tree(&folder), before, "{name}");
    }
}

#[test]
fn the_best_run_is_the_librarys() {
    let cases = read("expected.json").get("best_after_save");
    for (name, expected) in cases.state() {
        let root = copy_of_all();
        fs::remove_file(root.path().join("runs/best")).unwrap();
        let run = NNRun::load(&id_of(name), root.path()).unwrap();
        run.save(root.path()).unwrap();
        let found = NNRun::best_id(root.path()).unwrap();
        assert_eq!(found.as_deref(), expected.as_str(), "{name}");
    }
    assert!(cases.state().len() >= 4);
}

#[test]
fn a_save_under_another_root_is_refused() {
    let (root, other) = (copy_of_all(), tempfile::tempdir().unwrap());
    let id = id_of("small");
    let run = NNRun::load(&id, root.path()).unwrap();
    let error = run.save(other.path()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::JournalElsewhere { .. }),
        "{error}"
    );
    assert!(tree(other.path()).is_empty());
    // Another id is another folder.
    let salted = NNRun::builder(run.model().clone(), run.net().cloned(), run.train().clone())
        .salt("x")
        .history(run.history().map(ToOwned::to_owned))
        .build()
        .unwrap();
    let error = salted.save(root.path()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::JournalElsewhere { .. }),
        "{error}"
    );
    // A run that knows of no journal would be hidden by it.
    let error = run
        .clone()
        .with_history(None)
        .save(root.path())
        .unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Unsupported { .. }),
        "{error}"
    );
    run.with_history(None).save(other.path()).unwrap();
    assert_eq!(NNRun::load(&id, other.path()).unwrap().idps().len(), 5);
}

/// A run that is opened through the pointer keeps its own journal.
#[cfg(unix)]
#[test]
fn links_are_followed() {
    let root = copy_of_all();
    let id = read("expected.json").get("best").text().to_owned();
    let run = NNRun::load("best", root.path()).unwrap();
    assert_eq!(run.id(), id);
    run.save_history(root.path()).unwrap();
    // A linked folder, and a linked chunk, are read as if they were in their place.
    let history = root.path().join("runs").join(&id).join("history");
    let elsewhere = root.path().join("elsewhere");
    fs::rename(&history, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &history).unwrap();
    let chunk = elsewhere.join("chunk-00000000.jsonl");
    fs::rename(&chunk, root.path().join("chunk")).unwrap();
    std::os::unix::fs::symlink(root.path().join("chunk"), &chunk).unwrap();
    let run = NNRun::load(&id, root.path()).unwrap();
    NNRun::verify(&id, root.path()).unwrap();
    run.save_history(root.path()).unwrap();
}
