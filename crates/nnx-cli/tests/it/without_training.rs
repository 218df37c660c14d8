//! The error of the command that trains, in a build without training.

use std::process::Command;

#[test]
fn the_command_names_the_feature() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
    let done = command
        .args(["train", "a.yaml", "--data", "a.csv"])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(2));
    let expected = "nnx: `nnx train` needs training: install the command with its default features, or \
                    with the feature `train`\n";
    assert_eq!(String::from_utf8_lossy(&done.stderr), expected);
}
