//! Scanning and looking into a file with the command.

use std::path::Path;
use std::process::Command;

use crate::row::Row;
use crate::{Bench, Result, file};

pub(crate) fn run(bench: &Bench) -> Result<()> {
    // 200 MB in 50 tensors.
    let path = file::state_dict(bench.disk.path(), 50, 1 << 20)?;
    for what in ["scan", "inspect"] {
        let title = format!("`nnx {what}` of a file of 200 MB");
        Row::new(&title, 0, || command(&bench.nnx, &[what], &path))
            .beside("`nnx --version`", None, || {
                command(&bench.nnx, &["--version"], &path)
            })
            .beside("`cksum`", None, || command(Path::new("cksum"), &[], &path))
            .run()?;
    }
    Ok(())
}

/// Runs a command on a file and gives its exit status.
fn command(program: &Path, arguments: &[&str], path: &Path) -> Result<u64> {
    let mut command = Command::new(program);
    command.args(arguments);
    if arguments != ["--version"] {
        command.arg(path);
    }
    let status = command.output()?.status;
    Ok(status.code().unwrap_or(-1).unsigned_abs().into())
}
