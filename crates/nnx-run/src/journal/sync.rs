//! Appending to the files of a journal, and making them outlast a loss of power.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use crate::error::{Error, Result};

/// Writes bytes behind the first ones of a file, in place of anything that stands there: what an
/// earlier try left that was stopped within.
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
    // Windows flushes only what is open for writing.
    let file = File::options().write(true).open(path);
    file.and_then(|file| file.sync_all())
        .map_err(|error| Error::from(error).in_path(path))
}
