//! `cargo xtask bench`: times of reading beside those of other crates.

use crate::workspace::{cargo, line_of};
use crate::{Arguments, Result};

pub(crate) fn run(arguments: Arguments) -> Result<()> {
    arguments.finish()?;
    let mut command = cargo();
    command.args([
        "run",
        "--release",
        "--package=nnx-bench",
        "--features=peers",
    ]);
    match command.status()?.success() {
        true => Ok(()),
        false => Err(format!("`{}` failed", line_of(&command)).into()),
    }
}
