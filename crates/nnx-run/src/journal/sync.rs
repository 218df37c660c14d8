//! Appending to the files of a journal, and flushing them to the disk.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use crate::error::{Error, Result};

/// Cuts a file after its first `length` bytes and appends bytes. An earlier attempt that was
/// stopped wrote the rest, which does not count.
pub(super) fn append(path: &Path, length: u64, bytes: &[u8]) -> Result<()> {
    let write = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        file.set_len(length)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(bytes)
    };
    write().map_err(|error| Error::from(error).in_path(path))
}

/// Flushes a file to the disk.
pub(super) fn flush(path: &Path) -> Result<()> {
    // Windows flushes only files that are open for writing.
    let file = File::options().write(true).open(path);
    file.and_then(|file| file.sync_all())
        .map_err(|error| Error::from(error).in_path(path))
}
