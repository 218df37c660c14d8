//! `cargo xtask python-env`: provides a Python with the real NNx.
//!
//! The environment is a `venv` in the user's cache folder unless a folder is given:
//! `$XDG_CACHE_HOME/nnx` or `~/.cache/nnx` (also on macOS), `%LOCALAPPDATA%\nnx` on Windows.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

use crate::workspace::line_of;
use crate::{Arguments, Result};

/// A release of NNx and the packages that it needs.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) version: &'static str,
    requirements: &'static [&'static str],
    /// States and the keys in them that later releases added and this release ignores.
    pub(crate) drops: &'static [(&'static str, &'static str)],
    /// Whether it rebuilds models with LoRA and low-rank recipes.
    pub(crate) replays: bool,
}

/// The version of PyTorch that wrote the fixtures.
const TORCH: &str = "2.15.0";

/// The releases whose files are read and written, the preferred one first.
pub(crate) const LIBRARIES: &[Library] = &[
    Library {
        version: "0.4.1",
        requirements: &[
            "torch==2.15.0",
            // Graph networks need this package to compute; without it, their checkpoints can be
            // opened.
            "torch_geometric==2.8.1",
            "thekaveh-nnx[hub]==0.4.1",
        ],
        drops: &[],
        replays: true,
    },
    Library {
        version: "0.2.3",
        // This release imports the graph and vision packages even if they are not used.
        requirements: &[
            "torch==2.15.0",
            "torchvision",
            "torch_geometric==2.8.1",
            "thekaveh-nnx[hub]==0.2.3",
        ],
        drops: &[
            ("model_params", "task"),
            ("model_params", "precision"),
            ("idp", "kind"),
            ("idp", "count"),
            ("idp", "status"),
            ("idp", "metrics"),
            ("idp", "train_summary"),
            ("idp", "selection"),
            ("idp", "update_count"),
        ],
        replays: false,
    },
];

/// This file exists from before the first download until all is installed.
const UNFINISHED: &str = "nnx-install-unfinished";

/// Imports NNx and prints its release.
const NNX_VERSION: &str = "import nnx
from importlib.metadata import version
print(version('thekaveh-nnx'))";

/// Imports every package of the list and prints the versions.
const ALL_VERSIONS: &str = "import nnx, torch, torch_geometric, safetensors, huggingface_hub
from importlib.metadata import version
print(version('thekaveh-nnx'), version('torch').split('+')[0])";

pub(crate) fn run(mut arguments: Arguments) -> Result<()> {
    let library = library(arguments.value("--library")?.as_deref())?;
    let folder = arguments.word().map(PathBuf::from);
    arguments.finish()?;
    println!("{}", ensure(library, folder)?.display());
    Ok(())
}

/// The release of that version; the preferred one if no version is given.
///
/// # Errors
/// When the version is not one of [`LIBRARIES`].
pub(crate) fn library(version: Option<&str>) -> Result<&'static Library> {
    let mut known = LIBRARIES.iter();
    let found = match version {
        Some(version) => known.find(|library| library.version == version),
        None => known.next(),
    };
    found.ok_or_else(|| {
        let known: Vec<_> = LIBRARIES.iter().map(|library| library.version).collect();
        format!("expected an NNx version of {known:?}, found {version:?}").into()
    })
}

/// The interpreter of an environment with this release, which is installed if necessary. Prints on
/// stderr.
///
/// # Errors
/// When the folder contains something else, or Python, its `venv` or pip fails.
pub(crate) fn ensure(library: &Library, folder: Option<PathBuf>) -> Result<PathBuf> {
    let folder = match folder {
        Some(folder) => std::path::absolute(folder)?,
        None => cache_folder()?.join(format!("python-env-{}", library.version)),
    };
    let python = interpreter(&folder);
    match state_of(&folder)? {
        State::Finished => match is_complete(&python, library) {
            Ok(()) => return Ok(python),
            // An environment of an earlier state of this list may lack packages.
            Err(why) => {
                eprintln!("{}: completed, {why}", folder.display());
                if complete(library, &folder).is_ok() && is_complete(&python, library).is_ok() {
                    return Ok(python);
                }
                eprintln!("{}: made anew", folder.display());
            }
        },
        State::Unfinished => eprintln!("{}: made anew, unfinished", folder.display()),
        State::Absent => {}
    }
    install(library, &folder)?;
    is_complete(&python, library)?;
    Ok(python)
}

/// The state of the environment's folder.
#[derive(Debug, PartialEq)]
enum State {
    Absent,
    /// An interrupted installation of ours.
    Unfinished,
    /// A `venv`; only an import shows whether it has the packages.
    Finished,
}

/// # Errors
/// When the folder contains something that is not a `venv`: it is not ours to remove.
fn state_of(folder: &Path) -> Result<State> {
    if folder.join(UNFINISHED).exists() {
        return Ok(State::Unfinished);
    }
    if folder.join("pyvenv.cfg").exists() {
        return Ok(State::Finished);
    }
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries.count(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(format!("{}: {error}", folder.display()).into()),
    };
    match entries {
        0 => Ok(State::Absent),
        _ => Err(format!("{} is neither empty nor a venv", folder.display()).into()),
    }
}

fn install(library: &Library, folder: &Path) -> Result<()> {
    eprintln!(
        "installing NNx {} and torch {TORCH} into {}: this downloads about 3 GB and takes 6 GB of disk",
        library.version,
        folder.display()
    );
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let unfinished = folder.join(UNFINISHED);
    fs::write(&unfinished, "")?;
    let base = env::var_os("PYTHON").unwrap_or_else(|| BASE_PYTHON.into());
    aside(Command::new(base).args(["-m", "venv"]).arg(folder))?;
    complete(library, folder)?;
    fs::remove_file(unfinished)?;
    Ok(())
}

/// Installs the missing packages.
fn complete(library: &Library, folder: &Path) -> Result<()> {
    aside(
        Command::new(interpreter(folder))
            .args(["-m", "pip", "install", "--disable-pip-version-check"])
            .args(library.requirements),
    )
}

/// Runs a command whose output is progress; all of it is printed on stderr.
pub(crate) fn aside(command: &mut Command) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
        .map_err(|error| format!("cannot run `{}`: {error}", line_of(command)))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{}` failed: {status}", line_of(command)).into())
    }
}

/// Checks that an interpreter has the release; it may have other packages.
///
/// # Errors
/// When NNx cannot be imported, or is another release.
pub(crate) fn has(python: &Path, library: &Library) -> Result<()> {
    probe(python, NNX_VERSION, library.version)
}

/// Checks that an interpreter has every package that [`install`] installs.
fn is_complete(python: &Path, library: &Library) -> Result<()> {
    let expected = format!("{} {TORCH}", library.version);
    probe(python, ALL_VERSIONS, &expected)
}

/// Runs a few lines of Python that print versions.
fn probe(python: &Path, lines: &str, expected: &str) -> Result<()> {
    let done = Command::new(python)
        .args(["-I", "-c", lines])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run `{}`: {error}", python.display()))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let last = said.trim_end().lines().last().unwrap_or_default();
        return Err(format!("{} cannot import NNx: {last}", python.display()).into());
    }
    let found = String::from_utf8_lossy(&done.stdout);
    let found = found.trim();
    if found == expected {
        Ok(())
    } else {
        Err(format!(
            "{}: expected the versions `{expected}`, found `{found}`",
            python.display()
        )
        .into())
    }
}

#[cfg(not(windows))]
const BASE_PYTHON: &str = "python3";
#[cfg(windows)]
const BASE_PYTHON: &str = "python";

/// The interpreter of a `venv`.
pub(crate) fn interpreter(folder: &Path) -> PathBuf {
    if cfg!(windows) {
        folder.join("Scripts").join("python.exe")
    } else {
        folder.join("bin").join("python")
    }
}

/// The folder for the project's downloads.
///
/// # Errors
/// When the user has no cache folder.
pub(crate) fn cache_folder() -> Result<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    let cache = if let Some(cache) = set("XDG_CACHE_HOME") {
        PathBuf::from(cache)
    } else if let (true, Some(local)) = (cfg!(windows), set("LOCALAPPDATA")) {
        PathBuf::from(local)
    } else if let Some(home) = env::home_dir() {
        home.join(".cache")
    } else {
        return Err("no cache folder: set XDG_CACHE_HOME or give a folder".into());
    };
    Ok(cache.join("nnx"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_installation_is_seen_whatever_it_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        assert_eq!(state_of(&path.join("missing")).unwrap(), State::Absent);
        assert_eq!(state_of(path).unwrap(), State::Absent);
        fs::write(path.join("pyvenv.cfg"), "").unwrap();
        assert_eq!(state_of(path).unwrap(), State::Finished);
        fs::write(path.join(UNFINISHED), "").unwrap();
        assert_eq!(state_of(path).unwrap(), State::Unfinished);
    }

    #[test]
    fn a_folder_of_something_else_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.txt"), "years of work").unwrap();
        let error = ensure(&LIBRARIES[0], Some(folder.path().into())).unwrap_err();
        assert!(error.to_string().contains("nor a venv"), "{error}");
        assert!(folder.path().join("thesis.txt").exists());
    }

    #[test]
    fn the_first_release_is_the_default() {
        assert_eq!(library(None).unwrap().version, "0.4.1");
        assert_eq!(library(Some("0.2.3")).unwrap().version, "0.2.3");
        assert!(library(Some("9")).is_err());
    }
}
