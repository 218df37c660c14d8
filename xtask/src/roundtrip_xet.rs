//! `cargo xtask roundtrip --hub --xet`: the program of the tests of Xet, which is built for it. It has
//! crates that no other test needs.

use std::path::Path;

use crate::Result;
use crate::workspace::{cargo, line_of};

pub(crate) fn run(python: Option<&Path>) -> Result<()> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "nnx-xet-tests"]);
    command.args(["--features", "simulation", "--bin", "xet-roundtrip", "--"]);
    if let Some(python) = python {
        command.arg("--python").arg(python);
    }
    println!("{}", line_of(&command));
    match command.status()? {
        status if status.success() => Ok(()),
        status => Err(status.to_string().into()),
    }
}
