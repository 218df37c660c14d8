//! `cargo xtask bench checkpoint`: times beside a floor and beside other libraries.

use std::path::PathBuf;

use crate::workspace::{cargo, line_of};
use crate::{Arguments, Result};

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let python = arguments.value("--python")?;
    match arguments.word().as_deref() {
        Some("checkpoint") | None => {}
        Some(other) => return Err(format!("there is no bench `{other}`, only `checkpoint`").into()),
    }
    arguments.finish()?;
    let mut build = cargo();
    build.args(["build", "--release", "--package=nnx-cli"]);
    done(&mut build)?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let mut command = cargo();
    command.args([
        "run",
        "--release",
        "--package=nnx-bench",
        "--features=peers",
        "--",
    ]);
    command.arg(target.join("release/nnx")).args(python);
    done(&mut command)
}

fn done(command: &mut std::process::Command) -> Result<()> {
    match command.status()?.success() {
        true => Ok(()),
        false => Err(format!("`{}` failed", line_of(command)).into()),
    }
}
