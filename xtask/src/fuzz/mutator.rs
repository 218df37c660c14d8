//! The bodies under the mutator of `tests/fuzz`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use super::{PATIENCE, regressions, scratch};
use crate::Result;
use crate::workspace::output;

/// The number of processes for each body.
const PROCESSES: u64 = 2;
/// The time between two checks of a process.
const PAUSE: Duration = Duration::from_millis(100);
/// The KiB of address space of a process: 1 GiB.
const ADDRESS_SPACE: &str = "1048576";

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

    /// Waits for the end; `None` if the process had to be stopped.
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

/// Runs a body in several processes; returns the executions and the findings.
pub(super) fn run(program: &Path, body: &str, seconds: u64, seed: u64) -> Result<(u64, usize)> {
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

/// The program with a limit on its memory, if the system has one.
fn limited(program: &Path) -> Command {
    if cfg!(unix) {
        let mut command = Command::new("sh");
        let script = format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" \"$@\"");
        command.args(["-c", &script]).arg(program);
        return command;
    }
    Command::new(program)
}
