//! `cargo xtask charts`: shows the charts of `nnx runs plot` in a real browser.
//!
//! Charts of the fixtures' runs, and of difficult generated runs, are shown at the width of a phone
//! and of a large screen, light and dark. Text that is cut off or overlaps, a page that is wider
//! than its window, and a page that loads a file are errors. The pictures are for people to look
//! at.

use std::path::PathBuf;
use std::process::Command;

use crate::workspace::{cargo, output, root};
use crate::{Arguments, Result};

/// The script that runs in Python, with Playwright. It is passed as a path, so that an error does
/// not print all of it.
const SCRIPT: &str = "xtask/python/charts.py";
/// The folder of the pictures, below Cargo's target folder.
const FOLDER: &str = "charts";

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let python = arguments.value("--python")?;
    let python = python.unwrap_or_else(|| "python3".to_owned());
    let browser = arguments.value("--browser")?;
    let folder = arguments.word().map(PathBuf::from);
    arguments.finish()?;
    output(cargo().args(["build", "--quiet", "--package", "nnx-cli"]))?;
    // Cargo builds the command beside this program.
    let command = std::env::current_exe()?.with_file_name("nnx");
    let folder = folder.unwrap_or_else(|| command.with_file_name(FOLDER));
    std::fs::create_dir_all(&folder)?;
    let mut script = Command::new(python);
    script.arg(root().join(SCRIPT));
    script.args([&command, &root().join("tests/fixtures"), &folder]);
    script.args(browser);
    let said = output(&mut script)?;
    print!("{said}");
    if said.lines().any(|line| line.starts_with("FAIL")) {
        Err("not all charts are right".into())
    } else {
        Ok(())
    }
}
