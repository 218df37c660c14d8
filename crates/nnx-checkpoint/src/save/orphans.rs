//! Temporary files that outlived their process.

use std::ffi::OsStr;
#[cfg(unix)]
use std::fs::{self, File};
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::Result;

/// The end of the names of temporary files.
pub(super) const SUFFIX: &str = ".nnx-tmp";
/// Characters of the target's name in that of its temporary file: with up to four bytes each, and
/// the rest, the name stays below 255 bytes.
const NAME_CHARS: usize = 48;
/// Characters between prefix and suffix, which differ from file to file.
const RANDOM_CHARS: usize = 6;

/// How the temporary files of one target are named.
#[derive(Clone, Debug)]
pub(super) struct TemporaryName {
    prefix: String,
}

impl TemporaryName {
    /// That of a target.
    ///
    /// # Errors
    /// When the path ends without a name.
    pub(super) fn new(target: &Path) -> Result<Self> {
        let name: String = target
            .file_name()
            .ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?
            .to_string_lossy()
            .chars()
            .take(NAME_CHARS)
            .collect();
        Ok(Self {
            prefix: format!(".{name}."),
        })
    }

    /// The start of the names.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    fn is_of(&self, name: &OsStr) -> bool {
        name.to_str()
            .and_then(|name| name.strip_prefix(&self.prefix))
            .and_then(|name| name.strip_suffix(SUFFIX))
            .is_some_and(|random| {
                random.len() == RANDOM_CHARS && random.bytes().all(|b| b.is_ascii_alphanumeric())
            })
    }
}

/// Takes the lock that says the file is in use. False when another process, which took the file for
/// an orphan, was faster.
#[cfg(unix)]
pub(super) fn claim(file: &NamedTempFile) -> bool {
    match file.as_file().try_lock() {
        Ok(()) => is_at(file.as_file(), file.path()),
        Err(fs::TryLockError::WouldBlock) => false,
        // A file system without locks: nobody can take the file for an orphan there.
        Err(fs::TryLockError::Error(_)) => true,
    }
}

/// Removes the temporary files of a target whose process is gone. A file that cannot be removed
/// stays, and does no harm.
#[cfg(unix)]
pub(super) fn remove(folder: &Path, name: &TemporaryName) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if !name.is_of(&entry.file_name()) || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path();
        let Ok(file) = File::open(&path) else {
            continue;
        };
        if file.try_lock().is_ok() && is_at(&file, &path) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether the path still leads to the open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// A lock would keep everybody else from reading the file here, so that none is taken.
#[cfg(not(unix))]
pub(super) fn claim(_file: &NamedTempFile) -> bool {
    true
}

/// Without a lock an orphan cannot be told from a file that is being written.
#[cfg(not(unix))]
pub(super) fn remove(_folder: &Path, _name: &TemporaryName) {}
