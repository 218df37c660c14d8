//! Saving checkpoints: the files of each save, and the checks of them.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use nnx_checkpoint::CheckpointFormat;
use nnx_params::Checkpoints;
use nnx_run::{CheckpointStore, CheckpointTag, ErrorKind, SaveStep};

use super::support::{checkpoint, number_of, number_of_state, training_state};

fn last() -> CheckpointTag {
    Checkpoints::Last.into()
}

fn names(root: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(root.join("runs/x/checkpoints"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn each_save_leaves_its_own_files_alone() {
    let root = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new("x", root.path()).unwrap();
    for number in 1..=3 {
        let state = training_state(number);
        let manifest = store
            .save(&last(), &checkpoint(number), Some(&state))
            .unwrap();
        assert_eq!(manifest.generation(), Some(number.into()));
        assert_eq!(manifest.completed_epoch(), Some(number.into()));
        assert_eq!(manifest.counters().planned_n_epochs, Some(4));
        let id = manifest.checkpoint_id().unwrap().to_owned();
        let own = format!("last.pt.opt.{id}.pt");
        let expected = [
            "last.pt",
            "last.pt.lock",
            "last.pt.manifest.json",
            &own,
            "last.pt.opt.pt",
        ];
        assert_eq!(names(root.path()), expected);
        assert_eq!(store.tags().unwrap(), [last()]);
        let (found, state) = store.load_with_training_state(&last()).unwrap();
        let (found, state) = (found.unwrap(), state.unwrap());
        assert_eq!(
            (number_of(&found), number_of_state(&state)),
            (number, number)
        );
        assert_eq!(found.training_state_id.as_deref(), Some(id.as_str()));
        assert_eq!(store.verify(&last()).unwrap(), Some(manifest));
    }

    // Weights alone: no training state remains, and the ordinal goes on.
    let manifest = store.save(&last(), &checkpoint(9), None).unwrap();
    assert_eq!(
        names(root.path()),
        ["last.pt", "last.pt.lock", "last.pt.manifest.json"]
    );
    assert_eq!(
        (manifest.generation(), manifest.checkpoint_id()),
        (Some(4), None)
    );
    let (found, state) = store.load_with_training_state(&last()).unwrap();
    assert_eq!(found.unwrap().training_state_present, Some(false));
    assert!(state.is_none());
    assert_eq!(store.verify(&last()).unwrap(), Some(manifest));
}

#[test]
fn the_manifest_has_pythons_text() {
    let root = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new("x", root.path()).unwrap();
    let manifest = store.save(&last(), &checkpoint(1), None).unwrap();
    let (_, digest) = manifest.files().next().unwrap();
    let path = root.path().join("runs/x/checkpoints/last.pt.manifest.json");
    // As `json.dump(manifest, handle, sort_keys=True, indent=1)` writes it.
    let expected = format!(
        "{{\n \"checkpoint_id\": null,\n \"committed_updates\": null,\n \"completed_epoch\": 1,\n \
         \"files\": {{\n  \"last.pt\": \"{digest}\"\n }},\n \"format\": \"nnx.resume-point/1\",\n \
         \"generation\": 1,\n \"global_step\": null,\n \"planned_n_epochs\": null\n}}"
    );
    assert_eq!(fs::read_to_string(path).unwrap(), expected);
}

#[test]
fn steps_are_told_in_order() {
    let root = tempfile::tempdir().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let steps = Arc::clone(&told);
    let store = CheckpointStore::new("x", root.path()).unwrap();
    let store = store.on_step(move |step| steps.lock().unwrap().push(step));
    store
        .save(&last(), &checkpoint(1), Some(&training_state(1)))
        .unwrap();
    assert_eq!(*told.lock().unwrap(), SaveStep::ALL);
    told.lock().unwrap().clear();
    store.save(&last(), &checkpoint(1), None).unwrap();
    let without = [SaveStep::StateWritten, SaveStep::CopyWritten];
    let expected: Vec<_> = SaveStep::ALL
        .into_iter()
        .filter(|it| !without.contains(it))
        .collect();
    assert_eq!(*told.lock().unwrap(), expected);
}

/// Checks the error of `verify` after a file was tampered with.
#[track_caller]
fn check_problem(tamper: impl FnOnce(&Path, &str), part: &str) {
    let root = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new("x", root.path()).unwrap();
    let manifest = store
        .save(&last(), &checkpoint(1), Some(&training_state(1)))
        .unwrap();
    let state = format!("last.pt.opt.{}.pt", manifest.checkpoint_id().unwrap());
    tamper(&root.path().join("runs/x/checkpoints"), &state);
    let error = store.verify(&last()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::ResumePoint { .. }),
        "{error}"
    );
    assert!(error.to_string().contains(part), "{error}");
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

#[test]
fn files_that_do_not_belong_together_are_found_out() {
    let manifest = "last.pt.manifest.json";
    check_problem(
        |folder, state| fs::remove_file(folder.join(state)).unwrap(),
        "does not exist",
    );
    check_problem(
        |folder, _| {
            let other = checkpoint(2);
            other
                .to_file(folder.join("last.pt"), CheckpointFormat::Pickle)
                .unwrap();
        },
        "`last.pt` changed after it was written",
    );
    check_problem(
        |folder, _| edit(&folder.join(manifest), "\"last.pt\":", "\"q1.pt\":"),
        "does not list `last.pt`",
    );
    check_problem(
        |folder, _| {
            edit(
                &folder.join(manifest),
                "\"last.pt\":",
                "\"../x\": \"\", \"last.pt\":",
            )
        },
        "not the name of a file",
    );
    check_problem(
        |folder, state| {
            let other = format!("last.pt.opt.{}.pt", "0".repeat(32));
            fs::copy(folder.join(state), folder.join(&other)).unwrap();
            edit(&folder.join(manifest), state, &other);
        },
        "that it does not list",
    );
    check_problem(
        |folder, _| {
            edit(
                &folder.join(manifest),
                "\"generation\": 1",
                "\"generation\": 2",
            )
        },
        "from save 2, the training state from 1",
    );
    check_problem(
        |folder, _| fs::write(folder.join(manifest), "{").unwrap(),
        "a manifest",
    );
    check_problem(
        |folder, _| edit(&folder.join(manifest), "resume-point/1", "resume-point/2"),
        "found another",
    );
}

#[test]
fn a_checkpoint_without_a_manifest_loads_as_before() {
    let root = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new("x", root.path()).unwrap();
    let tag = CheckpointTag::new("every_e3").unwrap();
    checkpoint(3)
        .to_file(store.path(&tag), CheckpointFormat::Pickle)
        .unwrap();
    assert!(store.verify(&tag).unwrap().is_none());
    let (found, state) = store.load_with_training_state(&tag).unwrap();
    assert_eq!(number_of(&found.unwrap()), 3);
    assert!(state.is_none());
    assert_eq!(names(root.path()), ["every_e3.pt"]);
}

#[test]
fn a_save_that_cannot_be_written_leaves_the_old_one() {
    let root = tempfile::tempdir().unwrap();
    let store = CheckpointStore::new("x", root.path()).unwrap();
    let manifest = store
        .save(&last(), &checkpoint(1), Some(&training_state(1)))
        .unwrap();
    let before = names(root.path());
    let mut broken = checkpoint(2);
    broken.extra_metadata.insert("k".to_owned(), "v".to_owned());
    assert!(
        store
            .save(&last(), &broken, Some(&training_state(2)))
            .is_err()
    );
    assert_eq!(names(root.path()), before);
    assert_eq!(store.verify(&last()).unwrap(), Some(manifest));
}
