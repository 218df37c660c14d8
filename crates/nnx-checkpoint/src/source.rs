//! Where a checkpoint's bytes come from.

mod map;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;

pub(crate) use self::map::prefer_huge_pages;

use crate::error::{Error, Result};

/// The bytes of one file, mapped or read. Cheap to clone, and so is every slice of
/// [`bytes`](Self::bytes): all of them keep the same memory alive.
///
/// ```
/// use nnx_checkpoint::Source;
///
/// let source = Source::from_bytes(vec![1, 2, 3]);
/// assert_eq!(source.bytes().slice(1..), [2, 3].as_slice());
/// ```
#[derive(Clone, Default)]
pub struct Source {
    bytes: Bytes,
}

impl Source {
    /// Maps a file into memory: pages are read when they are first touched, and no copy is made.
    ///
    /// The file must stay as it is while the source, or any slice of it, lives.
    /// A process that overwrites it in place changes the bytes seen here, and one that truncates it
    /// makes a later access end this process (`SIGBUS` on Unix); [`read`](Self::read) has neither
    /// risk.
    /// Replacing the file by a rename, as [`save_atomic`](crate::save_atomic) does, is harmless: the
    /// map keeps the old file.
    /// An empty file gives empty bytes.
    ///
    /// # Errors
    /// When the path does not exist ([`NotFound`](crate::ErrorKind::NotFound)), is a directory, a
    /// pipe, a socket or a device, or the operating system refuses to open or map it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        open_regular(path)
            .and_then(|file| Ok(map::map(&file)?))
            .map(Self::from_bytes)
            .map_err(|error| error.in_path(path))
    }

    /// Reads a file into memory of its own, which grows while bytes arrive.
    ///
    /// # Errors
    /// When the path does not exist ([`NotFound`](crate::ErrorKind::NotFound)), is a directory, a
    /// pipe, a socket or a device, or the operating system refuses to open or read it.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        open_regular(path)
            .and_then(|file| {
                let len = file.metadata()?.len();
                let mut bytes = Vec::new();
                // The address space of a sparse file may not be there; the memory grows then.
                if let Ok(len) = usize::try_from(len)
                    && bytes.try_reserve_exact(len).is_ok()
                {
                    prefer_huge_pages(bytes.spare_capacity_mut());
                }
                // A plain `read_to_end` would insist on the length that the file system states.
                file.take(u64::MAX).read_to_end(&mut bytes)?;
                Ok(Self::from_bytes(bytes))
            })
            .map_err(|error| error.in_path(path))
    }

    /// A source of bytes that are in memory already.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Self {
        Self {
            bytes: bytes.into(),
        }
    }

    /// All bytes of the file.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// All bytes of the file, owned.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("len", &self.bytes.len())
            .finish()
    }
}

/// Opens a regular file. The kind is looked at first, because opening a pipe waits for its writer.
fn open_regular(path: &Path) -> Result<File> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    }
    if !kind.is_file() {
        return Err(Error::unsupported(
            "expected a regular file, found a pipe, a socket or a device",
        ));
    }
    Ok(File::open(path)?)
}

#[cfg(test)]
mod tests;
