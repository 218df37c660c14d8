//! Scans files in a store: each is copied to the disk, looked at, and removed.

use std::path::Path;

use nnx::checkpoint::{Storage, scan};
use tempfile::NamedTempFile;

use super::report::FileLine;
use crate::failure::Failure;
use crate::remote::Remote;
use crate::remote_source::remote_source;

/// The lines of a file, or of the files that are directly in a folder.
///
/// # Errors
/// When the files cannot be listed. A file that cannot be read has a line that says so.
pub(super) fn scan(url: &Path) -> Result<Vec<FileLine>, Failure> {
    let Some(remote) = remote_source(url)? else {
        return Ok(Vec::new());
    };
    let names = match remote.name() {
        Some(name) => vec![name.to_owned()],
        None => remote.folder.entries()?.files,
    };
    if names.is_empty() {
        return Err(Failure::new("empty", "no file is in the folder").in_path(url));
    }
    let lines = names.iter().map(|name| {
        let path = remote.folder.path(name);
        match copy(&remote, name) {
            Ok(file) => FileLine::new(&scan::scan_file(file.path())).with_path(&path),
            Err(failure) => FileLine::not_fetched(&path, failure),
        }
    });
    Ok(lines.collect())
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
