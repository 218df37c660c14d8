//! Errors of the commands that run a model, in a build without networks.

use std::process::Command;

#[test]
fn commands_of_networks_name_the_feature() {
    for arguments in [
        &["predict", "model.pt", "input.npy"][..],
        &["evaluate", "model.pt", "data.csv"],
        &["generate", "model.pt", "text"],
        &["summary", "model.pt"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
        let done = command.args(arguments).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{arguments:?}");
        let expected = format!(
            "nnx: `nnx {}` needs networks: install the command with its default features, or with \
             the feature `net`\n",
            arguments[0]
        );
        assert_eq!(String::from_utf8_lossy(&done.stderr), expected);
    }
}
