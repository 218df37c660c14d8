//! Trainings that would replace a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use nnx::NNRun;

use super::{Desk, object};

/// A CSV file of eight samples with these cells before the class.
fn write_csv(desk: &Desk, name: &str, header: &str, cells: &str) {
    let samples: Vec<String> = (0..8).map(|at| format!("{cells},{}", at % 3)).collect();
    fs::write(
        desk.path(name),
        format!("{header}\n{}\n", samples.join("\n")),
    )
    .unwrap();
}

/// The files of a folder with their bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.append(&mut files(&path));
        } else {
            all.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    all
}

/// Checks that a training with `--overwrite` fails, and that the run is as it was.
#[track_caller]
fn check_kept(desk: &Desk, id: &str, words: &[&str], said: &str) {
    let root = desk.path("root");
    let folder = root.join("runs").join(id);
    let before = (files(&folder), NNRun::best_id(&root).unwrap());
    let config = desk.fixture.join("run.yaml");
    let mut all = vec!["train", config.to_str().unwrap(), "--root", "root"];
    all.extend(["--quiet", "--overwrite"]);
    all.extend(words);
    let done = desk.nnx(&all);
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{words:?}: {told}");
    assert!(told.contains(said), "{words:?}: {told}");
    assert!(folder.exists(), "{words:?}");
    let after = (files(&folder), NNRun::best_id(&root).unwrap());
    assert!(before == after, "{words:?}");
}

#[test]
fn a_training_that_fails_leaves_the_run_that_it_would_overwrite() {
    let desk = Desk::new("ff_adam_default");
    let first = object(&mut desk.train("root", &["--quiet"]));
    let id = first["id"].as_str().unwrap();
    write_csv(&desk, "good.csv", "a,b,c,d,class", "1,2,3,4");
    write_csv(&desk, "narrow.csv", "a,b,class", "1,2");
    write_csv(&desk, "nan.csv", "a,b,c,d,class", "1,nan,3,4");
    check_kept(&desk, id, &["--data", "narrow.csv"], "narrow.csv");
    check_kept(
        &desk,
        id,
        &["--data", "nan.csv"],
        "the training loss is `NaN`",
    );
    let words = ["--data", "good.npz"];
    check_kept(&desk, id, &words, "good.npz");
    let words = ["--data", "train.safetensors", "--val", "narrow.csv"];
    check_kept(&desk, id, &words, "`[8, 2]` (file `narrow.csv`)");
    let words = ["--data", "good.csv", "--batch-size", "9", "--drop-last"];
    check_kept(&desk, id, &words, "the loader gave no batch");

    // A checkpoint to resume from that is no longer there.
    let more = ["--quiet", "--epochs", "1", "--resume", id];
    let second = object(&mut desk.train("root", &more));
    let checkpoints = desk.path("root/runs").join(id).join("checkpoints");
    fs::remove_file(checkpoints.join("last.pt")).unwrap();
    let words = ["--data", "good.csv", "--epochs", "1", "--resume", id];
    check_kept(&desk, second["id"].as_str().unwrap(), &words, "last");
}

/// The lease is that of Python, too: an exclusive lock of the same file.
#[test]
fn a_run_that_another_process_trains_is_refused_at_once() {
    let desk = Desk::new("ff_adam_default");
    let first = object(&mut desk.train("root", &["--quiet"]));
    let id = first["id"].as_str().unwrap();
    let lease = desk.path("root/runs/.leases").join(format!("{id}.lock"));
    let lease = fs::File::options().write(true).open(lease).unwrap();
    lease.lock().unwrap();
    let words = ["--data", "train.safetensors"];
    check_kept(&desk, id, &words, "another process trains the run");
    let refused = desk.train("root", &["--json"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let told: serde_json::Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!(told["error"]["kind"], "run_in_training");
    lease.unlock().unwrap();
    object(&mut desk.train("root", &["--quiet", "--overwrite"]));
}

/// Nothing of the earlier run is left beside the files of the new one.
#[test]
fn a_training_that_succeeds_replaces_the_run() {
    let desk = Desk::new("ff_adam_default");
    let first = object(&mut desk.train("root", &["--quiet"]));
    let id = first["id"].as_str().unwrap();
    let folder = desk.path("root/runs").join(id);
    fs::write(folder.join("checkpoints/custom_e7.pt"), "earlier").unwrap();
    object(&mut desk.train("root", &["--quiet", "--overwrite"]));
    assert!(!folder.join("checkpoints/custom_e7.pt").exists());
    desk.check_sound("root", id);
    assert_eq!(
        NNRun::best_id(desk.path("root")).unwrap().as_deref(),
        Some(id)
    );
}
