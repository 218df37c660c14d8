//! `cargo xtask distributed`: checkpoints that several processes write anew, joined by the command and
//! as far as it can by PyTorch, and conversions of them that are killed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::workspace::{cargo, output, root};
use crate::{Arguments, Result, python_env};

const SCRIPT: &str = "xtask/python/distributed.py";

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let python = match arguments.value("--python")? {
        Some(path) => PathBuf::from(path),
        None => python_env::ensure(python_env::library(None)?, None)?,
    };
    let mut number = |name: &str, default: u64| -> Result<u64> {
        match arguments.value(name)? {
            Some(text) => Ok(text.parse()?),
            None => Ok(default),
        }
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let seed = number("--seed", now % 1_000_000_000)?;
    let rounds = number("--rounds", 10)?;
    let kills = number("--kills", 100)?;
    arguments.finish()?;
    check(&python, seed, rounds, kills)
}

/// Makes that many checkpoints and kills that many conversions.
///
/// # Errors
/// When something differs.
fn check(python: &Path, seed: u64, rounds: u64, kills: u64) -> Result<()> {
    output(cargo().args(["build", "--quiet", "--package", "nnx-cli"]))?;
    // Cargo builds the command beside this program.
    let command = std::env::current_exe()?.with_file_name("nnx");
    let scratch = tempfile::tempdir()?;
    let mut script = Command::new(python);
    script.arg(root().join(SCRIPT)).arg(command);
    script.arg(scratch.path());
    script.args([seed, rounds, kills].map(|number| number.to_string()));
    let status = script.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(
            format!("the checkpoints of seed {seed} are not joined to the tensors that were saved")
                .into(),
        )
    }
}
