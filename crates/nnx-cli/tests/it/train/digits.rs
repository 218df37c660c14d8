//! Real data: the digits that scikit-learn ships.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::{fixtures, object};

#[test]
fn digits_are_learnt_as_well_as_by_the_real_library() {
    let folder = fixtures().join("digits");
    let expected = fs::read(folder.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let root = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
    command
        .current_dir(&folder)
        .args(["train", "digits.yaml", "--quiet"]);
    command.args(["--data", "train.npz", "--val", "val.npz", "--threads", "1"]);
    command.args(["--init-seed", &expected["init_seed"].to_string()]);
    command.args(["--batch-size", &expected["batch_size"].to_string()]);
    command.arg("--root").arg(root.path());
    let said = object(&mut command);
    assert_eq!(said["id"], expected["id"]);

    let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
    command
        .current_dir(&folder)
        .args(["evaluate", said["id"].as_str().unwrap(), "test.npz"]);
    command
        .arg("--root")
        .arg(root.path())
        .args(["--tag", "last"]);
    let error = object(&mut command)["error"].as_f64().unwrap();
    let of_python = expected["test_error"].as_f64().unwrap();
    println!("test error {error} here, {of_python} in Python");
    assert!(error < 0.05, "{error}");
    assert!(
        (error - of_python).abs() <= 0.005,
        "{error} instead of {of_python}"
    );
}
