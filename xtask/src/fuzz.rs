//! `cargo xtask fuzz`: each fuzz body of `tests/fuzz` on damaged fixtures, for a while.
//!
//! Two processes a body run rounds until the time is over. Whatever ends one of them before is a
//! finding: a panic, an overflowing stack, memory beyond 1 GiB, or a round that does not end. Its
//! input is written to `tests/fuzz/regression`, where a test finds it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Deserialize;

use crate::workspace::{self, cargo, line_of, output};
use crate::{Arguments, Result};

const DEFAULT_SECONDS: u64 = 10;
/// Processes that work at one body.
const PROCESSES: u64 = 2;
/// How long one round may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a process is looked at.
const PAUSE: Duration = Duration::from_millis(100);
/// KiB of address space that a process gets: 1 GiB.
const ADDRESS_SPACE: &str = "1048576";
/// Bytes of libFuzzer's inputs, at most.
const MAX_BYTES: u32 = 1 << 16;

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let seconds = arguments.value("--seconds")?;
    let seconds = seconds.map_or(Ok(DEFAULT_SECONDS), |seconds| seconds.parse())?;
    let seed = arguments.value("--seed")?;
    let seed = seed.map_or_else(seed_of_now, |seed| Ok(seed.parse()?))?;
    let libfuzzer = arguments.flag("--libfuzzer");
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
        let (executions, found) = match libfuzzer {
            true => with_libfuzzer(&program, body, seconds)?,
            false => with_mutator(&program, body, seconds, seed)?,
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

/// The command that runs bodies, with every overflow and assertion checked.
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

/// A process that runs rounds.
struct Worker {
    child: Child,
    number: u64,
    progress: PathBuf,
    round: u64,
    seen: Instant,
}

impl Worker {
    fn start(program: &Path, body: &str, number: u64, seconds: u64, folder: &Path) -> Result<Self> {
        let progress = folder.join(format!("{body}-{number}"));
        let mut command = limited(program);
        command.args(["run", body, &number.to_string(), &seconds.to_string()]);
        command.arg(&progress).env("TMPDIR", folder);
        Ok(Self {
            child: command.spawn()?,
            number,
            progress,
            round: 0,
            seen: Instant::now(),
        })
    }

    /// Waits for the end; none when it had to be made.
    fn wait(&mut self) -> Result<Option<ExitStatus>> {
        loop {
            let status = self.child.try_wait()?;
            let bytes = fs::read(&self.progress).unwrap_or_default();
            let round = bytes
                .first_chunk()
                .map_or(0, |bytes| u64::from_le_bytes(*bytes));
            if round != self.round {
                self.round = round;
                self.seen = Instant::now();
            }
            if status.is_some() {
                return Ok(status);
            }
            if self.seen.elapsed() > PATIENCE {
                self.child.kill()?;
                self.child.wait()?;
                return Ok(None);
            }
            thread::sleep(PAUSE);
        }
    }
}

fn with_mutator(program: &Path, body: &str, seconds: u64, seed: u64) -> Result<(u64, usize)> {
    let folder = scratch()?;
    let workers = (0..PROCESSES).map(|index| {
        Worker::start(
            program,
            body,
            seed.wrapping_add(index),
            seconds,
            folder.path(),
        )
    });
    let mut workers = workers.collect::<Result<Vec<_>>>()?;
    let (mut executions, mut found) = (0, 0);
    for worker in &mut workers {
        let status = worker.wait()?;
        executions += worker.round;
        if status.is_some_and(|status| status.success()) {
            continue;
        }
        found += 1;
        let how = status.map_or("it did not end".into(), |status| status.to_string());
        let (number, round) = (worker.number.to_string(), worker.round.to_string());
        let path = regressions().join(format!("{body}-{number}-{round}"));
        let mut command = Command::new(program);
        output(command.args(["input", body, &number, &round]).arg(&path))?;
        println!("finding: {how}; its input is {}", path.display());
    }
    Ok((executions, found))
}

/// The program with a bound on its memory, where the system has one.
fn limited(program: &Path) -> Command {
    if cfg!(unix) {
        let mut command = Command::new("sh");
        let script = format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" \"$@\"");
        command.args(["-c", &script]).arg(program);
        return command;
    }
    Command::new(program)
}

/// A folder for what the bodies write, in memory where the system offers that: every file is
/// flushed to the disk, which would be all that a body waits for.
fn scratch() -> Result<tempfile::TempDir> {
    const MEMORY: &str = "/dev/shm";
    let in_memory = tempfile::tempdir_in(MEMORY);
    Ok(in_memory.or_else(|_| tempfile::tempdir())?)
}

/// The body under libFuzzer, which wants a nightly toolchain and cargo-fuzz.
fn with_libfuzzer(program: &Path, body: &str, seconds: u64) -> Result<(u64, usize)> {
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
    // The code is safe, so what a sanitizer would find is not there; overflows and assertions are.
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
    // Set for the stable toolchain that runs this task.
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

fn regressions() -> PathBuf {
    workspace::root()
        .join("tests")
        .join("fuzz")
        .join("regression")
}

/// A seed that no earlier run had.
fn seed_of_now() -> Result<u64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())
}
