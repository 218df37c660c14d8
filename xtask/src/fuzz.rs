//! `cargo xtask fuzz`: runs each fuzz body of `tests/fuzz` on damaged fixtures for some time.
//!
//! Two processes for each body run rounds until the time is over. If a process ends earlier, this
//! is a finding: a panic, a stack overflow, memory use beyond 1 GiB, or a round that does not end.
//! The input is written to `tests/fuzz/regression`, where every later test run tries it.

mod libfuzzer;
mod mutator;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Deserialize;

use crate::workspace::{self, cargo, line_of, output};
use crate::{Arguments, Result};

const DEFAULT_SECONDS: u64 = 10;
/// The longest time for one round.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let seconds = arguments.value("--seconds")?;
    let seconds = seconds.map_or(Ok(DEFAULT_SECONDS), |seconds| seconds.parse())?;
    let seed = arguments.value("--seed")?;
    let seed = seed.map_or_else(seed_of_now, |seed| Ok(seed.parse()?))?;
    let coverage_guided = arguments.flag("--libfuzzer");
    let only = arguments.word();
    arguments.finish()?;

    let program = build()?;
    let bodies = output(Command::new(&program).arg("bodies"))?;
    let bodies = bodies
        .lines()
        .filter(|body| only.as_deref().is_none_or(|only| only == *body));
    let bodies: Vec<&str> = bodies.collect();
    if bodies.is_empty() {
        return Err("there is no such body".into());
    }
    let mut findings = 0;
    println!(
        "{:<12} {:>12} {:>8} {:>9}",
        "body", "executions", "seconds", "findings"
    );
    for body in bodies {
        let started = Instant::now();
        let (executions, found) = if coverage_guided {
            libfuzzer::run(&program, body, seconds)?
        } else {
            mutator::run(&program, body, seconds, seed)?
        };
        let took = started.elapsed().as_secs();
        println!("{body:<12} {executions:>12} {took:>8} {found:>9}");
        findings += found;
    }
    match findings {
        0 => Ok(()),
        _ => Err(format!("{findings} findings, see tests/fuzz/regression; `--seed {seed}`").into()),
    }
}

/// The command that runs bodies, with overflow checks and assertions.
fn build() -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Message {
        executable: Option<PathBuf>,
    }
    let words = [
        "build",
        "--package=nnx-fuzz",
        "--bin=nnx-fuzz",
        "--profile=fuzz",
    ];
    let mut command = cargo();
    command
        .args(words)
        .arg("--message-format=json-render-diagnostics");
    let messages = output(&mut command)?;
    let program = messages.lines().find_map(|line| {
        let message = serde_json::from_str::<Message>(line).ok()?;
        message.executable
    });
    program.ok_or_else(|| format!("`{}` built nothing", line_of(&command)).into())
}

/// The folder for the files of the bodies, in memory if the system has such a folder. Every file is
/// flushed, and on a disk the body would only wait for that.
fn scratch() -> Result<tempfile::TempDir> {
    const MEMORY: &str = "/dev/shm";
    let in_memory = tempfile::tempdir_in(MEMORY);
    Ok(in_memory.or_else(|_| tempfile::tempdir())?)
}

fn regressions() -> PathBuf {
    workspace::root()
        .join("tests")
        .join("fuzz")
        .join("regression")
}

/// A new seed.
fn seed_of_now() -> Result<u64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())
}
