//! Going on from a run.

use std::fs;
use std::path::Path;

use super::{Desk, check_close, losses, object, of_python};

/// Copies a folder with everything in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Words that follow each other.
fn with<'a>(parts: &[&[&'a str]]) -> Vec<&'a str> {
    parts.concat()
}

/// Dropout, shuffles and the optimizer go on as if nothing had happened.
#[test]
fn a_resumed_training_equals_one_without_a_break() {
    for more in [
        &[][..],
        &["--loader-seed", "7"],
        &["--no-shuffle", "--drop-last"],
    ] {
        let desk = Desk::new("ff_dropout");
        let quiet = ["--quiet"];
        let whole = object(&mut desk.train("whole", &with(&[more, &quiet, &["--epochs", "5"]])));
        let whole = losses(&desk.run("whole", whole["id"].as_str().unwrap()));
        let first = object(&mut desk.train("parts", &with(&[more, &quiet, &["--epochs", "2"]])));
        let first = first["id"].as_str().unwrap();
        let resumed = with(&[more, &quiet, &["--epochs", "3", "--resume", &first[..6]]]);
        let second = object(&mut desk.train("parts", &resumed));
        let second = second["id"].as_str().unwrap();
        let mut parts = losses(&desk.run("parts", first));
        parts.extend(losses(&desk.run("parts", second)));
        assert_eq!(parts, whole, "{more:?}");
        desk.check_sound("parts", second);

        // The configuration of the resumed run gives it again.
        let config = desk.path("parts/runs").join(second).join("run.yaml");
        let again = with(&[more, &quiet, &["--resume", first, "--overwrite"]]);
        let again = object(&mut desk.train_as(&config, "parts", &again));
        assert_eq!(again["id"], second);
    }
}

/// A run that Python trained is gone on with, and the new run has the id that Python gives it. The
/// checkpoint is the one that the configuration names.
#[test]
fn a_run_of_python_is_gone_on_with() {
    for (name, more) in [
        ("resume_stateful", &[][..]),
        ("resume_from_best", &["--early-stopping", "3"]),
        ("resume_planned", &[]),
        ("resume_generator", &["--loader-seed", "77"]),
        ("resume_monitor_update_clock", &[]),
        ("resume_weights_only", &["--weights-only"]),
    ] {
        let desk = Desk::new(name);
        let python = of_python(&desk);
        copy(&desk.fixture.join("runs"), &desk.path("rust/runs"));
        let (source, _) = python.parent().unwrap();
        let words = with(&[more, &["--quiet", "--resume", source]]);
        let said = object(&mut desk.train("rust", &words));
        assert_eq!(said["id"], python.id(), "{name}");
        let (rust, python) = (losses(&desk.run("rust", python.id())), losses(&python));
        check_close(
            &rust,
            &python,
            if name == "resume_from_best" {
                1e-4
            } else {
                1e-5
            },
        );
    }
}

/// A parent that is not resumed is recorded, as in Python, and a note says so.
#[test]
fn a_parent_alone_restores_nothing() {
    let desk = Desk::new("resume_stateful");
    let said = object(&mut desk.train("rust", &["--quiet"]));
    assert_eq!(said["id"], desk.about["run_id"]);
    let note = said["notes"][0].as_str().unwrap();
    assert!(
        note.contains("as its parent") && note.contains("--resume"),
        "{note}"
    );
    assert_eq!(said["last"]["epoch_idx"], 1);
}

#[test]
fn a_training_starts_with_the_weights_of_a_checkpoint() {
    let desk = Desk::new("ff_adam_default");
    let first = object(&mut desk.train("first", &["--quiet"]));
    let folder = desk.path(first["path"].as_str().unwrap());
    let last = folder.join("checkpoints/last.pt").display().to_string();
    let words = ["--quiet", "--from", &last, "--epochs", "1"];
    let second = object(&mut desk.train("second", &words));
    let fresh = object(&mut desk.train("fresh", &["--quiet", "--epochs", "1"]));
    // The same run by its id, with other numbers.
    assert_eq!(second["id"], fresh["id"]);
    assert_ne!(second["last"]["train_edp"], fresh["last"]["train_edp"]);
    // A checkpoint of another net does not fit.
    let other = super::fixtures().join("nnx-0.4.1/checkpoints/ff_nohidden.pt");
    let words = ["--quiet", "--from", other.to_str().unwrap()];
    let done = desk.train("other", &words).output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{told}");
    assert!(told.contains("ff_nohidden.pt"), "{told}");
}
