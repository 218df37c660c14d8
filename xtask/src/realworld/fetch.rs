//! Downloads the missing files.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use nnx_checkpoint::zip::ZipArchive;
use nnx_checkpoint::{Limits, Source};

use super::{Manifest, Published, sha256};
use crate::Result;
use crate::workspace::output;

/// Downloads every file of the manifest into the folder, and compares each with its SHA-256.
///
/// # Errors
/// When pip fails, or a package or a file is not the one from which the expected values were made.
pub(super) fn fetch(manifest: &Manifest, folder: &Path) -> Result<()> {
    for published in manifest.files.values() {
        let same = |other: &&Published| other.wheel_sha256 == published.wheel_sha256;
        let missing = manifest.files.iter().filter(|(_, other)| same(other));
        let missing = missing.filter(|(name, other)| !is_there(&folder.join(name), other));
        let missing: Vec<_> = missing.collect();
        if !missing.is_empty() {
            download(published, &missing, folder)?;
        }
    }
    Ok(())
}

fn is_there(path: &Path, published: &Published) -> bool {
    fs::read(path).is_ok_and(|bytes| sha256(&bytes) == published.file_sha256)
}

fn download(package: &Published, files: &[(&String, &Published)], folder: &Path) -> Result<()> {
    let requirement = format!("{}=={}", package.package, package.version);
    eprintln!("downloading {requirement}");
    let scratch = tempfile::tempdir()?;
    let python = env::var_os("PYTHON").unwrap_or_else(|| OsString::from("python3"));
    let mut command = Command::new(python);
    command.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    command.args(["--no-deps", "--only-binary=:all:", &requirement, "--dest"]);
    output(command.arg(scratch.path()))?;
    let wheel = fs::read_dir(scratch.path())?
        .next()
        .ok_or("pip downloaded nothing")??
        .path();
    let source = Source::read(&wheel)?;
    if sha256(source.bytes()) != package.wheel_sha256 {
        return Err(format!("{requirement} is not what the expected values were made from").into());
    }
    let archive = ZipArchive::parse(source.bytes(), &Limits::default())?;
    for (name, published) in files {
        let entry = archive
            .entry(name)
            .ok_or_else(|| format!("{requirement} has no `{name}`"))?;
        let content = archive.data(entry)?;
        if sha256(&content) != published.file_sha256 {
            return Err(format!("`{name}` is not what the expected values were made from").into());
        }
        let target = folder.join(name);
        fs::create_dir_all(target.parent().unwrap_or(folder))?;
        fs::write(target, &content)?;
    }
    Ok(())
}
