//! Which folders hold a run.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::layout::{BEST, runs_folder};
use crate::lock::is_absence;

/// The ids of the folders that hold a run, in order; of names that are no text, nothing is known
/// here.
pub(crate) fn run_ids(root: &Path) -> Result<Vec<String>> {
    let names = run_names(root)?.into_iter();
    Ok(names.filter_map(|name| name.into_string().ok()).collect())
}

/// The names of the folders that hold a run, or may do so, in order.
///
/// A folder without `run.yaml` holds none. One that does not let us see whether it has that file
/// does, as far as anybody can say, and so does one whose `run.yaml` is no file: whoever reads it
/// is told why it cannot be read.
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
        // What is hidden is no run's folder: `.leases`.
        Err(_) => folder.file_name().is_some_and(|name| !is_hidden(name)),
    }
}

fn is_hidden(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Whether a `run.yaml` is there to be read.
///
/// # Errors
/// When it is something else than a file, or the operating system does not let us see it.
pub(super) fn is_there(run_yaml: &Path) -> Result<bool> {
    let what = match fs::metadata(run_yaml) {
        Ok(about) if about.is_file() => return Ok(true),
        Ok(about) if about.is_dir() => "expected a file, found a folder",
        Ok(_) => "expected a file, found something else",
        Err(error) if !is_absence(&error) => return Err(Error::from(error).in_path(run_yaml)),
        Err(_) if is_link(run_yaml)? => "expected a file, found a link to one that is not there",
        Err(_) => return Ok(false),
    };
    Err(Error::malformed(what).in_path(run_yaml))
}

fn is_link(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(about) => Ok(about.is_symlink()),
        Err(error) if is_absence(&error) => Ok(false),
        Err(error) => Err(Error::from(error).in_path(path)),
    }
}

/// The error for a folder whose name is no text, so that no id can be it.
#[cold]
pub(crate) fn not_text(name: &OsString, root: &Path) -> Error {
    let what = "expected UTF-8 as the name of a run's folder, found other bytes; rename the folder";
    Error::malformed(what).in_path(&runs_folder(root).join(name))
}
