//! A build without the feature `run`.

#![cfg(not(feature = "run"))]

use std::process::Command;

#[test]
fn commands_on_runs_say_which_feature_they_need() {
    for words in [
        vec!["list"],
        vec!["best"],
        vec!["show", "4"],
        vec!["verify", "4"],
        vec!["compare", "4", "8"],
        vec!["plot", "4", "-o", "chart.svg"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
        let done = command.arg("runs").args(words).output().unwrap();
        assert_eq!(done.status.code(), Some(2));
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(said.contains("the feature `run`"), "{said}");
    }
}
