//! The workspace as Cargo sees it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{collections::BTreeMap, env};

use serde::Deserialize;

use crate::Result;

/// A member of the workspace.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
    manifest_path: PathBuf,
    features: BTreeMap<String, Vec<String>>,
    /// The registries to which it may be published; `None` means any, an empty list means none.
    publish: Option<Vec<String>>,
}

/// A line of a manifest's dependency tables.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
}

/// Features that need hardware or a vendor's compiler, so that no machine builds all of them.
const HARDWARE_FEATURES: &[&str] = &["accelerate", "cuda", "cudnn", "metal", "mkl", "nccl"];

impl Package {
    /// Whether users get the package.
    pub(crate) fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|to| !to.is_empty())
    }

    /// The folder of its manifest.
    pub(crate) fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(Path::new(""))
    }

    /// The names of the features that build on every machine.
    pub(crate) fn feature_names(&self) -> impl Iterator<Item = &str> {
        let names = self.features.keys().map(String::as_str);
        names.filter(|name| !HARDWARE_FEATURES.contains(name))
    }

    /// [`feature_names`](Self::feature_names), as `package/feature`.
    pub(crate) fn portable_features(&self) -> impl Iterator<Item = String> {
        self.feature_names()
            .map(|feature| format!("{}/{feature}", self.name))
    }
}

/// The folder of the workspace's manifest.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable for `cargo run`; the compiled-in value is for a direct start.
    let manifest = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().map_or_else(PathBuf::new, PathBuf::from)
}

/// The cargo that started this task, to be run in the workspace's root.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // The variables of xtask's own package would be wrong for other packages.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "CARGO_PKG_VERSION"] {
        command.env_remove(name);
    }
    command
}

/// The output of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    target_directory: PathBuf,
}

fn metadata() -> Result<Metadata> {
    let text = output(cargo().args(["metadata", "--no-deps", "--format-version=1"]))?;
    Ok(serde_json::from_str(&text)?)
}

/// Every member, in the order of their names.
///
/// # Errors
/// When cargo cannot be run or reports an error in a manifest.
pub(crate) fn packages() -> Result<Vec<Package>> {
    let mut packages = metadata()?.packages;
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

/// Cargo's target folder.
///
/// # Errors
/// As for [`packages`].
pub(crate) fn target_dir() -> Result<PathBuf> {
    Ok(metadata()?.target_directory)
}

/// Runs a command to its end and returns its output.
///
/// # Errors
/// When it cannot be started, fails, or prints something that is not UTF-8.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let done = command
        .output()
        .map_err(|error| format!("cannot run `{}`: {error}", line_of(command)))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(format!("`{}` failed: {}", line_of(command), said.trim()).into());
    }
    Ok(String::from_utf8(done.stdout)?)
}

/// The command as a user would type it.
pub(crate) fn line_of(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
