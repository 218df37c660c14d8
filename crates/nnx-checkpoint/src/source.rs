//! Where a checkpoint's bytes come from.

mod cached;
mod folder;
mod map;
mod range;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

pub use self::cached::CachedRange;
pub use self::folder::{Folder, FolderEntries, LocalFolder};
pub(crate) use self::map::prefer_huge_pages;
pub(crate) use self::range::CHUNK_BYTES;
pub use self::range::{ByteRange, RangeRead};

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
    /// The file of a map, where the system reads at an offset.
    file: Option<Arc<File>>,
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
            .and_then(Self::from_file)
            .map_err(|error| error.in_path(path))
    }

    /// Maps a file that is open already.
    ///
    /// # Errors
    /// When the operating system refuses to map it.
    pub(crate) fn from_file(file: File) -> Result<Self> {
        Ok(Self {
            bytes: map::map(&file)?,
            file: cfg!(unix).then(|| Arc::new(file)),
        })
    }

    /// The same bytes by their map alone: the file does not stay open. A process can have many maps
    /// and few open files.
    #[must_use]
    pub(crate) fn with_file_closed(self) -> Self {
        Self { file: None, ..self }
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
            file: None,
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

impl RangeRead for Source {
    fn byte_len(&self) -> u64 {
        self.bytes.len() as u64
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        use std::os::unix::fs::FileExt;
        match &self.file {
            Some(file) => Ok(file.read_exact_at(into, offset)?),
            None => self.bytes.read_at(offset, into),
        }
    }

    #[cfg(not(unix))]
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.bytes.read_at(offset, into)
    }

    fn map(&self) -> Option<&Bytes> {
        Some(&self.bytes)
    }

    fn file(&self) -> Option<&File> {
        self.file.as_deref()
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
