//! `cargo xtask bench`: measures times beside a lower bound and beside other libraries.

use std::path::PathBuf;
use std::process::Command;

use crate::workspace::{cargo, line_of};
use crate::{Arguments, Result};

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let python = arguments.value("--python")?;
    let part = arguments.value("--part")?;
    let bench = arguments.word();
    let mut rows = Vec::new();
    if bench.as_deref() == Some("net") {
        rows.extend(std::iter::from_fn(|| arguments.word()));
    }
    arguments.finish()?;
    let is_of_checkpoints = matches!(bench.as_deref(), Some("checkpoint") | None);
    if part.is_some() && !is_of_checkpoints {
        return Err("only the bench of checkpoints has parts: leave `--part` out".into());
    }
    match bench.as_deref() {
        Some("checkpoint") | None => checkpoint(part.as_deref(), python.as_deref()),
        Some("hub") => hub(python.as_deref()),
        Some("net") => net(python.as_deref(), &rows),
        Some("train") => train(python.as_deref()),
        Some(other) => Err(format!(
            "there is no bench `{other}`, only `checkpoint`, `hub`, `net` and `train`"
        )
        .into()),
    }
}

/// Networks beside PyTorch: the rows whose names begin with one of the words, or all.
fn net(python: Option<&str>, rows: &[String]) -> Result<()> {
    let python = python.ok_or("networks are measured beside PyTorch: give `--python PATH`")?;
    done(bench().args(["net", python]).args(rows))
}

/// Training beside NNx, on one thread and on two.
fn train(python: Option<&str>) -> Result<()> {
    let python = python.ok_or("training is measured beside NNx: give `--python PATH`")?;
    for threads in ["1", "2"] {
        let mut command = bench();
        command.env("RAYON_NUM_THREADS", threads);
        done(command.args(["train", python]))?;
    }
    Ok(())
}

/// Transfers beside the official client of the Hub.
fn hub(python: Option<&str>) -> Result<()> {
    let python =
        python.ok_or("transfers are measured beside the official client: give `--python PATH`")?;
    done(bench().arg("hub").arg(nnx()?).arg(python))
}

/// Reading and writing of checkpoints: all of the table, or one part of it.
fn checkpoint(part: Option<&str>, python: Option<&str>) -> Result<()> {
    done(bench().arg(nnx()?).arg(part.unwrap_or("all")).args(python))
}

/// Builds the command and returns its path.
fn nnx() -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--release", "--package=nnx-cli"]);
    done(&mut build)?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    Ok(target.join("release/nnx"))
}

/// The command that runs the benches. Its features are always the same, so that nothing is built
/// twice.
fn bench() -> Command {
    let mut command = cargo();
    command.args([
        "run",
        "--release",
        "--package=nnx-bench",
        "--features=peers",
        "--",
    ]);
    command
}

fn done(command: &mut Command) -> Result<()> {
    if command.status()?.success() {
        Ok(())
    } else {
        Err(format!("`{}` failed", line_of(command)).into())
    }
}
