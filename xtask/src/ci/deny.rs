//! Licences, bans and sources of all dependencies, judged by cargo-deny over `.deny.toml`.

use std::path::PathBuf;
use std::process::Command;

use super::succeed;
use crate::workspace::{self, cargo, line_of, output};
use crate::{Result, python_env};

/// The release for which the configuration is written.
const VERSION: &str = "0.20.2";

pub(super) fn run() -> Result<()> {
    let tool = tool()?;
    // cargo-deny reads the manifest of every dependency, including those for other systems.
    succeed(cargo().args(["fetch", "--locked"]))?;
    let mut check = Command::new(tool);
    check.current_dir(workspace::root());
    check.args(["--offline", "check", "licenses", "bans", "sources"]);
    println!("{}", line_of(&check));
    succeed(&mut check)
}

/// The program: the installed one, or one that is built once and kept in the user's cache.
fn tool() -> Result<PathBuf> {
    let installed = PathBuf::from("cargo-deny");
    let version = output(Command::new(&installed).arg("--version"));
    if version.is_ok_and(|version| version.trim() == format!("cargo-deny {VERSION}")) {
        return Ok(installed);
    }
    let folder = python_env::cache_folder()?.join(format!("cargo-deny-{VERSION}"));
    let program = format!("cargo-deny{}", std::env::consts::EXE_SUFFIX);
    let program = folder.join("bin").join(program);
    if !program.exists() {
        let mut install = cargo();
        // Optimising would take longer than it saves: a check takes seconds.
        install.args([
            "install",
            "--locked",
            "--debug",
            "cargo-deny",
            "--version",
            VERSION,
        ]);
        install.arg("--root").arg(&folder);
        println!("{}", line_of(&install));
        succeed(&mut install)?;
    }
    Ok(program)
}
