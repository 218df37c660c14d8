//! Scans files in a store: each is copied to the disk, scanned, and removed.

use std::path::Path;

use nnx::checkpoint::{Storage, scan};
use tempfile::NamedTempFile;

use super::report::FileLine;
use crate::failure::Failure;
use crate::remote::Remote;

/// The most folders within each other.
const MAX_DEPTH: usize = 64;

/// The lines of a file, or of the files in a folder and below it. If a file cannot be read, or a
/// folder cannot be listed, a line says so.
pub(super) fn scan(url: &str) -> Vec<FileLine> {
    let mut lines = Vec::new();
    if let Err(failure) = add(url, 0, &mut lines) {
        lines.push(FileLine::not_fetched(Path::new(url), failure));
    } else if lines.is_empty() {
        let failure = Failure::new("empty", "no file is in the folder").in_path(Path::new(url));
        lines.push(FileLine::not_fetched(Path::new(url), failure));
    }
    lines
}

/// Adds the lines of a URL.
///
/// # Errors
/// When the URL is not valid, or a folder that cannot be listed or is too deep.
fn add(url: &str, depth: usize, lines: &mut Vec<FileLine>) -> Result<(), Failure> {
    if depth > MAX_DEPTH {
        let what = format!("expected at most {MAX_DEPTH} folders within each other; scan this one");
        return Err(Failure::new("limit_exceeded", what).in_path(Path::new(url)));
    }
    let remote = Remote::in_store(url)?;
    if let Some(name) = remote.name() {
        lines.push(line(&remote, name));
        return Ok(());
    }
    let entries = remote.folder.entries()?;
    lines.extend(entries.files.iter().map(|name| line(&remote, name)));
    for folder in &entries.folders {
        let url = format!("{}/{folder}/", url.trim_end_matches('/'));
        if let Err(failure) = add(&url, depth.saturating_add(1), lines) {
            lines.push(FileLine::not_fetched(Path::new(&url), failure));
        }
    }
    Ok(())
}

fn line(remote: &Remote, name: &str) -> FileLine {
    let path = remote.folder.path(name);
    match copy(remote, name) {
        Ok(file) => FileLine::new(&scan::scan_file(file.path())).with_path(&path),
        Err(failure) => FileLine::not_fetched(&path, failure),
    }
}

/// A copy of a file on the disk.
fn copy(remote: &Remote, name: &str) -> Result<NamedTempFile, Failure> {
    let in_path = |error: nnx::checkpoint::Error| error.in_path(&remote.folder.path(name));
    let range = remote.folder.open(name).map_err(in_path)?;
    let io = |error: std::io::Error| Failure::new("io", error.to_string());
    let mut file = NamedTempFile::new().map_err(io)?;
    let storage = Storage::from_range(range, "cpu").map_err(in_path)?;
    storage.copy_to(file.as_file_mut()).map_err(in_path)?;
    Ok(file)
}
