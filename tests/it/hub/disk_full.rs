//! A disk that takes no more: the files that were there stay.

use std::path::Path;
use std::process::Command;

use nnx_hub::{ErrorKind, ModelHubMixin, SnapshotOptions};
use nnx_net::NNModel;

use super::desk::{Desk, fixture, repo};
use super::loading::check_same;

/// Set to a folder in the process that may write no larger files than of a block.
const FOLDER: &str = "NNX_TESTS_FULL_DISK";

/// No file may grow beyond 512 bytes here, which the weights of the fixture do.
#[test]
#[ignore = "runs as the process whose disk is full"]
fn child() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    let model = NNModel::from_pretrained(fixture()).unwrap();
    let error = model.save_pretrained(folder).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Weights(_)), "{error}");
    check_same(folder);
    let names = std::fs::read_dir(folder).unwrap().count();
    assert_eq!(names, 3, "nothing is left behind");

    let desk = Desk::in_memory();
    desk.seed();
    let error = desk
        .hub
        .snapshot(&repo(), &SnapshotOptions::default())
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io { .. }), "{error}");
    let root = desk.cache.path().join("models--alice--model");
    assert!(!root.join("refs/main").exists());
    for blob in std::fs::read_dir(root.join("blobs")).unwrap() {
        let path = blob.unwrap().path();
        assert!(
            path.extension().is_none(),
            "{} is left behind",
            path.display()
        );
    }
}

#[test]
fn what_was_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    let model = NNModel::from_pretrained(fixture()).unwrap();
    model.save_pretrained(folder.path()).unwrap();
    // The signal is ignored, so that writing fails as it does on a full disk.
    let output = Command::new("sh")
        .arg("-c")
        .arg(
            "trap '' XFSZ && ulimit -f 1 && \
             exec \"$0\" --exact hub::disk_full::child --ignored --nocapture",
        )
        .arg(std::env::current_exe().unwrap())
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{wrong}"
    );
}
