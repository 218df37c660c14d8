//! Runs the tests as on a machine that has never seen the project: in a clone of the committed
//! files, with an empty home folder and an empty folder for temporary files. No test may depend on
//! the path of that folder.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::Result;
use crate::workspace::{self, cargo, output, root};

/// The folder for temporary files, below an empty folder: two levels deep, so that `../` of a
/// temporary folder does not contain files of others.
pub(crate) const DEEP: &str = "one/two";
/// The same with a name that a script must quote and that is not ASCII.
pub(crate) const ODD: &str = "one/two wörds";

/// The beginnings of the names of variables that say where the user's files are.
const USERS_OWN: [&str; 4] = ["HF_", "HUGGING", "XDG_", "TRANSFORMERS_"];

/// A run of the tests, with its folders.
#[derive(Debug)]
pub(crate) struct FreshRun {
    folder: TempDir,
    pub(crate) command: Command,
}

/// Clones the last commit. The path of the clone is always the same, so that its artifacts replace
/// those of the previous clone: cargo builds the workspace's own crates again, because a clone's
/// files are new, and uses the dependencies that other steps have built.
///
/// # Errors
/// When git or the operating system returns an error.
pub(crate) fn make() -> Result<PathBuf> {
    let clone = workspace::target_dir()?.join("fresh-clone");
    if clone.exists() {
        fs::remove_dir_all(&clone)?;
    }
    let changes = output(git(&root()).args(["status", "--porcelain"]))?;
    if !changes.is_empty() {
        println!(
            "a clone contains only the last commit: {} uncommitted changes are not tested here",
            changes.lines().count()
        );
    }
    let mut command = git(&root());
    command.args(["clone", "--quiet", "."]).arg(&clone);
    output(&mut command)?;
    Ok(clone)
}

fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder);
    command
}

impl FreshRun {
    /// Runs `cargo test --workspace` in a checkout, with the temporary folder at that path below an
    /// empty folder.
    ///
    /// # Errors
    /// When the operating system returns an error.
    pub(crate) fn new(checkout: &Path, temporary: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let [home, temporary] = ["home", temporary].map(|name| folder.path().join(name));
        for made in [&home, &temporary] {
            fs::create_dir_all(made)?;
        }
        let mut command = cargo();
        command
            .current_dir(checkout)
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

    /// Checks after the tests that the home folder is still empty.
    ///
    /// # Errors
    /// The error lists the names of the files in it.
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
