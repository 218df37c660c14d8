//! A build without the feature `store`.

use std::process::Command;

#[test]
fn a_url_names_the_feature() {
    for (words, url) in [
        (["inspect", "s3://b/m.pt"], "s3://b/m.pt"),
        (["verify", "file:///m.pt"], "file:///m.pt"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nnx"));
        let done = command.args(words).output().unwrap();
        assert_eq!(done.status.code(), Some(2));
        // It is not a default feature.
        let expected = format!(
            "nnx: `{url}` needs object stores: install the command with the feature `store`\n"
        );
        assert_eq!(String::from_utf8_lossy(&done.stderr), expected);
    }
}
