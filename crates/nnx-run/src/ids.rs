//! The folders that hold a run.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::layout::{BEST, runs_folder};
use crate::lock::is_absence;

/// The ids of the folders that hold a run, in order. Folders whose names are not UTF-8 are left out.
pub(crate) fn run_ids(root: &Path) -> Result<Vec<String>> {
    let names = run_names(root)?.into_iter();
    Ok(names.filter_map(|name| name.into_string().ok()).collect())
}

/// The names of the folders that hold a run, or may hold one, in order.
///
/// A folder without `run.yaml` does not hold a run. A folder that may not be searched counts as a
/// run, and so does a folder whose `run.yaml` is not a file: reading it then reports why it cannot be
/// read.
pub(crate) fn run_names(root: &Path) -> Result<Vec<OsString>> {
    let runs = runs_folder(root);
    let entries = match fs::read_dir(&runs) {
        Ok(entries) => entries,
        Err(error) if is_absence(&error) => return Ok(Vec::new()),
        Err(error) => return Err(Error::from(error).in_path(&runs)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| Error::from(error).in_path(&runs))?;
        let name = entry.file_name();
        if name != BEST && may_hold_run(&entry.path()) {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn may_hold_run(folder: &Path) -> bool {
    match fs::symlink_metadata(folder.join("run.yaml")) {
        Ok(_) => true,
        Err(error) if is_absence(&error) => false,
        // A hidden folder, such as `.leases`, is never that of a run.
        Err(_) => folder.file_name().is_some_and(|name| !is_hidden(name)),
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Whether a `run.yaml` exists and is a file.
///
/// # Errors
/// When it is not a file, or the operating system does not let us see it.
pub(crate) fn is_there(run_yaml: &Path) -> Result<bool> {
    let what = match fs::metadata(run_yaml) {
        Ok(metadata) if metadata.is_file() => return Ok(true),
        Ok(metadata) if metadata.is_dir() => "expected a file, found a folder",
        Ok(_) => "expected a file, found something else",
        Err(error) if !is_absence(&error) => return Err(Error::from(error).in_path(run_yaml)),
        Err(_) if is_link(run_yaml)? => "expected a file, found a link to a missing file",
        Err(_) => return Ok(false),
    };
    Err(Error::malformed(what).in_path(run_yaml))
}

fn is_link(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(metadata.is_symlink()),
        Err(error) if is_absence(&error) => Ok(false),
        Err(error) => Err(Error::from(error).in_path(path)),
    }
}

/// The error for a folder whose name is not UTF-8, so that it cannot be an id.
#[cold]
pub(crate) fn not_text(name: &OsStr, root: &Path) -> Error {
    let what = "expected UTF-8 as the name of a run's folder, found other bytes; rename the folder";
    Error::malformed(what).in_path(&runs_folder(root).join(name))
}
