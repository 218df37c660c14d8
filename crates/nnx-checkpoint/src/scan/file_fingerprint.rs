//! A file's size and times before and after it is looked at.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;
use std::time::SystemTime;

use super::error::ScanError;
use crate::{Error, Source};

/// Files up to this size are read rather than mapped: one that is cut short meanwhile must not end
/// the whole scan, which it would if it were mapped.
const MAX_READ_BYTES: u64 = 16 << 20;

/// Size and time of a regular file: if they are the same afterwards, so is the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileFingerprint {
    len: u64,
    modified: Option<SystemTime>,
}

impl FileFingerprint {
    /// The fingerprint that the file has now.
    ///
    /// # Errors
    /// When it is not there.
    pub(super) fn new(path: &Path) -> Result<Self, ScanError> {
        let metadata = fs::metadata(path).map_err(Error::from)?;
        Ok(Self {
            len: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// When it is no regular file or cannot be read; when it has no size and yet holds something,
    /// as the files of `/proc` do: their contents are made as they are read, and may never end.
    pub(super) fn open(&self, path: &Path) -> Result<Source, ScanError> {
        let source = if self.len > MAX_READ_BYTES {
            Source::open(path)?
        } else if self.len > 0 {
            Source::read(path)?
        } else {
            // Refuses pipes, sockets and devices.
            let source = Source::open(path)?;
            if !is_empty(path).map_err(Error::from)? {
                let message = "the file says that it is empty and is not: the system makes up what \
                               it holds";
                return Err(ScanError::new("unsupported", message));
            }
            source
        };
        let expected = usize::try_from(self.len).ok();
        if expected != Some(source.bytes().len()) {
            let message = format!(
                "the file says that it has {} bytes, but has {}",
                self.len,
                source.bytes().len()
            );
            return Err(ScanError::new("io", message));
        }
        Ok(source)
    }
}

/// Whether nothing comes out of a regular file; one that would keep its reader waiting counts as
/// having something.
fn is_empty(path: &Path) -> io::Result<bool> {
    let mut file = open_without_waiting(path)?;
    if !Metadata::is_file(&file.metadata()?) {
        return Ok(false);
    }
    match file.read(&mut [0]) {
        Ok(read) => Ok(read == 0),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_changed_is_not_the_one_that_was_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, [1, 2, 3]).unwrap();
        let seen = FileFingerprint::new(&path).unwrap();
        assert_eq!(seen.open(&path).unwrap().bytes().len(), 3);
        fs::write(&path, [1, 2]).unwrap();
        let failure = seen.open(&path).unwrap_err();
        assert!(failure.what().contains("3 bytes, but has 2"));
        assert_ne!(FileFingerprint::new(&path).unwrap(), seen);
        fs::remove_file(&path).unwrap();
        assert!(seen.open(&path).is_err());
        assert!(FileFingerprint::new(&path).is_err());
    }

    #[test]
    fn a_file_without_bytes_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, []).unwrap();
        let source = FileFingerprint::new(&path).unwrap().open(&path).unwrap();
        assert!(source.bytes().is_empty());
    }
}
