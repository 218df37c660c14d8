//! `cargo xtask runs`: shares runs with the real NNx.
//!
//! Without an argument, a writer is killed at many moments, and every file that it leaves is judged
//! here. With `--python PATH` the real NNx judges the files too. Both save one checkpoint in turn
//! and at the same time, each resumes the other's training, and their texts are compared.

mod exchange;
mod kill;
mod numbered;
mod python;
mod sample_run;
mod texts;
mod turns;

use std::path::PathBuf;

use python::Python;

use crate::python_env;
use crate::{Arguments, Result};

/// The run that is saved repeatedly.
const RUN: &str = "shared";

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    // The killed process is also this program.
    if let Some(root) = arguments.value(kill::WRITER)? {
        let from = arguments.word().ok_or("the writer needs a number")?;
        let step = arguments.word();
        arguments.finish()?;
        return kill::write(&PathBuf::from(root), from.parse()?, step);
    }
    let python = arguments.value("--python")?.map(PathBuf::from);
    let library = python_env::library(None)?;
    let number = |name: &str, arguments: &mut Arguments| -> Result<Option<u32>> {
        let value = arguments.value(name)?;
        Ok(value.map(|value| value.parse()).transpose()?)
    };
    let kills = number("--kills", &mut arguments)?.unwrap_or(400);
    let rounds = number("--rounds", &mut arguments)?.unwrap_or(100);
    let seed = number("--seed", &mut arguments)?.unwrap_or(0);
    arguments.finish()?;

    let mut python = match &python {
        Some(interpreter) => {
            python_env::has(interpreter, library)?;
            Some(Python::start(interpreter)?)
        }
        None => None,
    };
    kill::judge(python.as_mut(), kills)?;
    if let Some(python) = &mut python {
        turns::judge(python, rounds)?;
        texts::judge(python, seed)?;
        exchange::judge(python)?;
    }
    Ok(())
}
