//! `cargo xtask loaders`: opens converted models with the loaders of other tools.
//!
//! Each set of tools is in a separate `venv` in the user's cache folder. All other packages, such
//! as PyTorch, come from the Python with the real NNx; the packages of the `venv` come first.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::{cargo, output, root};
use crate::{Arguments, Result, python_env};

/// The script that runs in Python. It is passed as a path, so that an error does not print all of
/// it.
const SCRIPT: &str = "xtask/python/loaders.py";

/// Tools that are installed together.
struct Tools {
    name: &'static str,
    requirements: &'static [&'static str],
}

/// The newest version of each, and the last transformers that both writes and reads pickles.
const SETS: &[Tools] = &[
    Tools {
        name: "transformers-5",
        requirements: &[
            "transformers==5.24.0",
            "accelerate==1.15.0",
            "diffusers==0.42.1",
            "peft==0.21.2",
            "safetensors==0.8.0",
        ],
    },
    Tools {
        name: "transformers-4",
        requirements: &[
            "transformers==4.57.6",
            "accelerate==1.15.0",
            "safetensors==0.8.0",
        ],
    },
];

/// The file with the list of the installed packages; it is written when all are installed.
const INSTALLED: &str = "nnx-installed.txt";

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let python = match arguments.value("--python")? {
        Some(path) => PathBuf::from(path),
        None => python_env::ensure(python_env::library(None)?, None)?,
    };
    let folder = arguments.word().map(PathBuf::from);
    arguments.finish()?;
    output(cargo().args(["build", "--quiet", "--package", "nnx-cli"]))?;
    // Cargo builds the command beside this program.
    let command = std::env::current_exe()?.with_file_name("nnx");
    let scratch = match folder {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let mut failed = false;
    for tools in SETS {
        let python = environment(tools, &python)?;
        let mut script = Command::new(python);
        script.arg(root().join(SCRIPT));
        script.args([&command, &root().join("tests/fixtures")]);
        script.arg(scratch.path().join(tools.name));
        let said = output(&mut script)?;
        println!("{}", tools.name);
        print!("{said}");
        failed |= said.lines().any(|line| line.starts_with("FAIL"));
    }
    if failed {
        Err("not all loaders read what was converted".into())
    } else {
        Ok(())
    }
}

/// The interpreter with a set of tools, which are installed if necessary.
///
/// # Errors
/// When Python, its `venv` or pip fails.
fn environment(tools: &Tools, base: &Path) -> Result<PathBuf> {
    let folder = python_env::cache_folder()?.join(format!("loaders-{}", tools.name));
    let python = python_env::interpreter(&folder);
    let installed = folder.join(INSTALLED);
    let wanted = format!("{}\n{}\n", base.display(), tools.requirements.join("\n"));
    if fs::read_to_string(&installed).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }
    if folder.exists() {
        // The folder contains an interrupted or older installation of ours, or it is not ours.
        if !folder.join("pyvenv.cfg").exists() {
            return Err(format!("{} is not a venv", folder.display()).into());
        }
        fs::remove_dir_all(&folder)?;
    }
    eprintln!("installing {} into {}", tools.name, folder.display());
    python_env::aside(Command::new(base).args(["-m", "venv"]).arg(&folder))?;
    let packages = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let of = |python: &Path| output(Command::new(python).args(["-c", packages]));
    // A line of a `.pth` file is searched after the packages of the environment itself.
    fs::write(
        Path::new(of(&python)?.trim()).join("nnx-base.pth"),
        of(base)?,
    )?;
    python_env::aside(
        Command::new(&python)
            .args(["-m", "pip", "install", "--disable-pip-version-check"])
            .args(tools.requirements),
    )?;
    fs::write(installed, wanted)?;
    Ok(python)
}
