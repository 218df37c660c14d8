//! The tests on a machine that has never seen the project, as near as this machine comes to it: a
//! clone without a file that is not committed, an empty home folder, and an empty folder for
//! temporary files, of whose place and name no test may take advantage.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::Result;
use crate::workspace::{self, cargo, output, root};

/// Where temporary files go, from an empty folder: two levels deep, so that `../` of a temporary
/// folder leads to nothing that others have left.
pub(crate) const DEEP: &str = "one/two";
/// The same with a name that a script must quote and that is not ASCII.
pub(crate) const ODD: &str = "one/two wörds";

/// Variables that tell where the user keeps things, by their beginnings.
const USERS_OWN: [&str; 4] = ["HF_", "HUGGING", "XDG_", "TRANSFORMERS_"];

/// A run of the tests, and the folders that go with it.
#[derive(Debug)]
pub(crate) struct FreshRun {
    folder: TempDir,
    pub(crate) command: Command,
}

/// Clones the last commit. The clone is always at the same path below the target folder, so that
/// its artifacts take the place of those of the clone before: cargo builds the workspace's own crates
/// again, because a clone's files are new, and takes the dependencies that every other step has built.
///
/// # Errors
/// When git refuses, or the operating system does.
pub(crate) fn make() -> Result<PathBuf> {
    let clone = path()?;
    if clone.exists() {
        fs::remove_dir_all(&clone)?;
    }
    let changes = output(git(&root()).args(["status", "--porcelain"]))?;
    if !changes.is_empty() {
        println!(
            "a clone has the last commit alone: {} changes that are not committed are not tested here",
            changes.lines().count()
        );
    }
    let mut command = git(&root());
    command.args(["clone", "--quiet", "."]).arg(&clone);
    output(&mut command)?;
    Ok(clone)
}

/// Where the clone is.
///
/// # Errors
/// When cargo cannot be asked for its target folder.
pub(crate) fn path() -> Result<PathBuf> {
    Ok(workspace::target_dir()?.join("fresh-clone"))
}

fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder);
    command
}

impl FreshRun {
    /// `cargo test --workspace` in the clone, with the temporary folder at that path of an empty one.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub(crate) fn new(clone: &Path, temporary: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let [home, temporary] = ["home", temporary].map(|name| folder.path().join(name));
        for made in [&home, &temporary] {
            fs::create_dir_all(made)?;
        }
        let mut command = cargo();
        command
            .current_dir(clone)
            .args(["test", "--workspace"])
            .env("CARGO_TARGET_DIR", workspace::target_dir()?);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if USERS_OWN.iter().any(|start| text.starts_with(start)) {
                command.env_remove(&name);
            }
        }
        // The toolchain's own folders are in the home folder, unless variables say otherwise.
        for (name, below) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
            let set = std::env::var_os(name).map(PathBuf::from);
            let own = || Some(std::env::home_dir()?.join(below));
            if let Some(folder) = set.or_else(own) {
                command.env(name, folder);
            }
        }
        for name in ["TMPDIR", "TMP", "TEMP"] {
            command.env(name, &temporary);
        }
        for name in ["HOME", "USERPROFILE"] {
            command.env(name, &home);
        }
        Ok(Self { folder, command })
    }

    /// Checks, after the tests, that the home folder is as empty as before.
    ///
    /// # Errors
    /// With the names of what is in it.
    pub(crate) fn check_home(&self) -> Result<()> {
        let entries = fs::read_dir(self.folder.path().join("home"))?;
        let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        match names.as_slice() {
            [] => Ok(()),
            names => {
                let names = names.join(OsStr::new("`, `"));
                Err(format!("the tests left `{}` in the home folder", names.display()).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_an_empty_home_and_the_toolchain() {
        let clone = tempfile::tempdir().unwrap();
        let run = FreshRun::new(clone.path(), ODD).unwrap();
        let value = |name: &str| {
            let mut found = run.command.get_envs();
            let found = found.find(|(key, _)| *key == name);
            found.and_then(|(_, value)| value).map(PathBuf::from)
        };
        let temporary = value("TMPDIR").unwrap();
        assert!(temporary.is_dir() && temporary.ends_with(ODD));
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
        let cargo_home = value("CARGO_HOME").unwrap();
        assert!(!cargo_home.starts_with(value("HOME").unwrap()));
        run.check_home().unwrap();
        fs::write(value("HOME").unwrap().join("left"), "").unwrap();
        assert!(run.check_home().unwrap_err().to_string().contains("`left`"));
    }
}
