//! `cargo xtask train`: the real NNx and the command `nnx` train the same things, and each goes on
//! from the other's checkpoints. With `--kills N` that many trainings are killed instead.

mod chains;
mod compare;
mod data;
mod drawn;
mod job;
mod kills;
mod random;

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use compare::Closeness;
use job::Trainers;

use crate::workspace::{cargo, output, target_dir};
use crate::{Arguments, Result, python_env};

/// Trainings whose configuration is drawn.
const DRAWN: usize = 20;

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    if let Some(kills) = arguments.value("--kills")? {
        let kills = kills.parse()?;
        arguments.finish()?;
        return kills::judge(kills);
    }
    let library = python_env::library(None)?;
    let python = match arguments.value("--python")? {
        Some(path) => PathBuf::from(path),
        None => python_env::ensure(library, None)?,
    };
    let seed = arguments.value("--seed")?;
    let seed = match seed {
        Some(seed) => seed.parse()?,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
    };
    arguments.finish()?;
    python_env::has(&python, library)?;

    output(cargo().args(["build", "--package=nnx-cli"]))?;
    let folder = tempfile::tempdir()?;
    let trainers = Trainers {
        python,
        command: target_dir()?.join("debug").join("nnx"),
        folder: folder.path().to_owned(),
    };
    let mut closeness = Closeness::default();
    chains::judge(&trainers, &mut closeness)?;
    println!("{DRAWN} trainings drawn with `--seed {seed}`");
    drawn::judge(&trainers, seed, DRAWN, &mut closeness)?;
    closeness.verdict()
}
