//! Memory: the bodies in a process that may not have much.

use std::process::Command;

/// KiB of address space: 1 GiB.
const ADDRESS_SPACE: &str = "1048576";

#[test]
fn regressions_and_truncated_fixtures_need_no_gibibyte() {
    let script = format!("ulimit -v {ADDRESS_SPACE} && exec \"$0\" once");
    let done = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_nnx-fuzz")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{}: {said}", done.status);
    print!("{}", String::from_utf8_lossy(&done.stdout));
}
