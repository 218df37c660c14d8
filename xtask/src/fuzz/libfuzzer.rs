//! The bodies under libFuzzer.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{PATIENCE, regressions, scratch};
use crate::Result;
use crate::workspace::{self, line_of, output};

/// The largest input of libFuzzer, in bytes.
const MAX_BYTES: u32 = 1 << 16;

/// Runs the body under libFuzzer, which needs a nightly toolchain and cargo-fuzz.
pub(super) fn run(program: &Path, body: &str, seconds: u64) -> Result<(u64, usize)> {
    let folder = scratch()?;
    let seeds = folder.path().join("seeds");
    let corpus = folder.path().join("corpus");
    fs::create_dir(&corpus)?;
    output(Command::new(program).args(["seeds", body]).arg(&seeds))?;
    let mut command = Command::new("cargo");
    command.args([
        "+nightly",
        "fuzz",
        "run",
        "--fuzz-dir=tests/fuzz",
        "--sanitizer=none",
    ]);
    // The code is safe, so a sanitizer would find nothing; overflow checks and assertions are on.
    command.args(["--release", "--debug-assertions", body]);
    command.args([&corpus, &seeds]).arg("--");
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-timeout={}", PATIENCE.as_secs()));
    command.arg(format!("-max_len={MAX_BYTES}"));
    command.args(["-rss_limit_mb=1024", "-print_final_stats=1"]);
    command.arg(format!(
        "-artifact_prefix={}/{body}-",
        regressions().display()
    ));
    command
        .current_dir(workspace::root())
        .env("TMPDIR", folder.path());
    // This variable is for the stable toolchain that runs this task.
    for name in ["CARGO", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    let done = command
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    let said = String::from_utf8_lossy(&done.stderr);
    let executions = said
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    match executions {
        Some(count) => Ok((count.trim().parse()?, usize::from(!done.status.success()))),
        None => Err(format!("`{}` did not run: {}", line_of(&command), said.trim()).into()),
    }
}
