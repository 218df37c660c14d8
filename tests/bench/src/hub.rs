//! Transfers beside those of the official client of the Hub, each in a process of its own.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nnx_hub_server::{HubServer, WRITE_TOKEN};
use tempfile::NamedTempFile;

use crate::{Result, resident};

/// How often each transfer is measured; the fastest counts.
const RUNS: usize = 3;
/// A repository with large files, and one with many small ones.
const LARGE: &str = "alice/large";
const SMALL: &str = "alice/small";
/// The repository that is pushed.
const PUSHED: &str = "alice/pushed";
const SMALL_FILES: usize = 5000;
const MIB: usize = 1 << 20;

/// The official client. It prints the seconds of the transfer alone, without the start of Python.
const SCRIPT: &str = r#"
import sys, time
from huggingface_hub import HfApi, snapshot_download
verb, repo, folder = sys.argv[1:4]
begin = time.perf_counter()
if verb == "pull":
    snapshot_download(repo)
else:
    api = HfApi()
    api.create_repo(repo, exist_ok=True)
    api.upload_folder(repo_id=repo, folder_path=folder)
print(time.perf_counter() - begin)
"#;

/// The time and the memory of a process.
#[derive(Clone, Copy)]
struct Taken {
    time: Duration,
    /// The time of the transfer alone, where the process says it.
    inner: Duration,
    memory_mib: f64,
}

/// A transfer, and the target of its ratio.
struct Transfer {
    what: &'static str,
    verb: &'static str,
    repo: &'static str,
    is_warm: bool,
    /// The ratio that ours is to stay at or below.
    target: Option<f64>,
}

struct Bench<'a> {
    nnx: &'a Path,
    python: &'a Path,
    hub: HubServer,
    folder: tempfile::TempDir,
}

pub(crate) fn run(nnx: &Path, python: &Path) -> Result<()> {
    let bench = Bench {
        nnx,
        python,
        hub: HubServer::start()?,
        folder: tempfile::tempdir_in(nnx.parent().unwrap_or(nnx))?,
    };
    bench.seed()?;
    println!(
        "| what | `nnx` | memory | huggingface_hub | without the start of Python | memory | ratio | \
         target |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let transfer = |what, verb, repo, is_warm, target| Transfer {
        what,
        verb,
        repo,
        is_warm,
        target,
    };
    for transfer in [
        transfer(
            "pull 1 GiB in 4 files, cold cache",
            "pull",
            LARGE,
            false,
            Some(0.6),
        ),
        transfer("the same, warm cache", "pull", LARGE, true, Some(0.1)),
        transfer(
            "pull 5,000 files of 1 KiB, cold cache",
            "pull",
            SMALL,
            false,
            Some(0.7),
        ),
        transfer("the same, warm cache", "pull", SMALL, true, None),
        transfer("push 2 GiB in 4 files", "push", PUSHED, false, Some(0.9)),
    ] {
        bench.measure(&transfer)?;
    }
    Ok(())
}

impl Bench<'_> {
    fn seed(&self) -> Result<()> {
        let bytes: Vec<Vec<u8>> = (1..=4).map(|seed| noise(seed, 256 * MIB)).collect();
        let names: Vec<String> = (0..4).map(|at| format!("part-{at}.safetensors")).collect();
        self.hub.seed(LARGE, &named(&names, &bytes));
        let pushed = self.pushed();
        fs::create_dir(&pushed)?;
        for (at, name) in names.iter().enumerate() {
            let mut out = BufWriter::new(File::create(pushed.join(name))?);
            // No two of them are equal.
            out.write_all(&bytes[at])?;
            out.write_all(&bytes[(at + 1) % bytes.len()])?;
            out.flush()?;
        }
        let names: Vec<String> = (0..SMALL_FILES)
            .map(|at| format!("{}/{at}.txt", at % 50))
            .collect();
        let bytes: Vec<Vec<u8>> = (0..SMALL_FILES as u64)
            .map(|at| noise(at + 9, 1 << 10))
            .collect();
        self.hub.seed(SMALL, &named(&names, &bytes));
        Ok(())
    }

    fn pushed(&self) -> PathBuf {
        self.folder.path().join("pushed")
    }

    /// Measures a transfer of both clients in turns and prints a row.
    fn measure(&self, transfer: &Transfer) -> Result<()> {
        let mut best: [Option<Taken>; 2] = [None; 2];
        for turn in 0..RUNS {
            for (client, best) in best.iter_mut().enumerate() {
                let home = self.folder.path().join(format!("home-{client}"));
                let is_first = turn == 0;
                if !transfer.is_warm || is_first {
                    let _ = fs::remove_dir_all(&home);
                }
                if transfer.verb == "push" {
                    self.hub.forget(PUSHED);
                }
                if transfer.is_warm && is_first {
                    self.transfer(client, transfer, &home)?;
                }
                // Writes of earlier turns must not keep the disk busy.
                Command::new("sync").status()?;
                let taken = self.transfer(client, transfer, &home)?;
                self.hub.calm();
                if best.is_none_or(|best| taken.time < best.time) {
                    *best = Some(taken);
                }
            }
        }
        for client in 0..2 {
            let _ = fs::remove_dir_all(self.folder.path().join(format!("home-{client}")));
        }
        let [Some(ours), Some(other)] = best else {
            return Err("nothing was measured".into());
        };
        let ratio = ours.time.as_secs_f64() / other.time.as_secs_f64();
        let target = match transfer.target {
            Some(target) if ratio <= target => format!("≤ {target}: met"),
            Some(target) => format!("≤ {target}: missed"),
            None => String::new(),
        };
        println!(
            "| {} | {:.3} s | {:.0} MiB | {:.3} s | {:.3} s | {:.0} MiB | {ratio:.2} | {target} |",
            transfer.what,
            ours.time.as_secs_f64(),
            ours.memory_mib,
            other.time.as_secs_f64(),
            other.inner.as_secs_f64(),
            other.memory_mib,
        );
        Ok(())
    }

    fn transfer(&self, client: usize, transfer: &Transfer, home: &Path) -> Result<Taken> {
        let mut command = Command::new(if client == 0 { self.nnx } else { self.python });
        match (client, transfer.verb) {
            (0, "pull") => command.args(["pull", transfer.repo]),
            (0, _) => command.arg("push").arg(self.pushed()).arg(transfer.repo),
            (_, verb) => command
                .args(["-I", "-c", SCRIPT, verb, transfer.repo])
                .arg(self.pushed()),
        };
        command
            .env("HF_ENDPOINT", self.hub.endpoint())
            .env("HF_HOME", home)
            .env("HF_TOKEN", WRITE_TOKEN)
            .env("HF_HUB_DISABLE_XET", "1")
            .env("HF_HUB_DISABLE_TELEMETRY", "1")
            .env("HF_HUB_DISABLE_PROGRESS_BARS", "1")
            .stdin(Stdio::null());
        let (time, memory, output) = watch(&mut command)?;
        let inner = match client {
            0 => time,
            _ => Duration::try_from_secs_f64(output.trim().parse()?)?,
        };
        Ok(Taken {
            time,
            inner,
            memory_mib: memory as f64 / MIB as f64,
        })
    }
}

/// Runs a command, and measures its time and the bytes of its memory; returns its output too.
///
/// # Errors
/// When it fails, or its memory cannot be read.
fn watch(command: &mut Command) -> Result<(Duration, u64, String)> {
    // A pipe that nobody reads would stop a command that prints much.
    let (output, errors) = (NamedTempFile::new()?, NamedTempFile::new()?);
    command.stdout(output.reopen()?).stderr(errors.reopen()?);
    let begin = Instant::now();
    let mut child = command.spawn()?;
    let process = child.id().to_string();
    let mut memory = None;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        // A process that is ending has none.
        memory = memory.max(resident::largest_of(&process).ok());
        std::thread::sleep(Duration::from_millis(1));
    };
    let time = begin.elapsed();
    if !status.success() {
        return Err(fs::read_to_string(errors.path())?.into());
    }
    let memory = memory.ok_or("the memory of a command could not be read")?;
    Ok((time, memory, fs::read_to_string(output.path())?))
}

/// Files by their names.
fn named<'a>(names: &'a [String], bytes: &'a [Vec<u8>]) -> Vec<(&'a str, &'a [u8])> {
    let bytes = bytes.iter().map(Vec::as_slice);
    names.iter().map(String::as_str).zip(bytes).collect()
}

/// Bytes that no program can compress; the same ones for the same seed.
fn noise(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(count);
    while bytes.len() < count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}
