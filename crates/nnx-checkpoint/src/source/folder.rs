//! A folder of files that are read by range, wherever it is.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{ByteRange, Source};
use crate::error::{Error, ErrorKind, Result};

/// Files that a local folder keeps open at a time; bytes of further ones are taken from their maps.
const MAX_OPEN_FILES: usize = 256;

/// A folder of files: on the disk ([`LocalFolder`]), in a bucket, on the Hub.
///
/// A checkpoint of several files is opened in one: its index and its shards. The files that several
/// processes wrote are joined on the disk alone. Names are relative to the folder, with `/` between their parts.
///
/// ```
/// use bytes::Bytes;
/// use nnx_checkpoint::{ByteRange, CheckpointReader, Folder, FolderEntries, OpenOptions, Result};
///
/// /// A folder of one file.
/// #[derive(Debug)]
/// struct OneFile;
///
/// impl Folder for OneFile {
///     fn entries(&self) -> Result<FolderEntries> {
///         let files = vec!["model.pt".to_owned()];
///         Ok(FolderEntries { files, folders: Vec::new() })
///     }
///
///     fn open(&self, _: &str) -> Result<ByteRange> {
///         // pickle.dumps({}, 2)
///         Ok(Bytes::from_static(b"\x80\x02}q\x00.").into())
///     }
///
///     fn path(&self, name: &str) -> std::path::PathBuf {
///         std::path::Path::new("memory:").join(name)
///     }
/// }
///
/// let reader = CheckpointReader::open_in(&OneFile, Some("model.pt"), &OpenOptions::default())?;
/// assert!(reader.tensors().is_empty());
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
pub trait Folder: fmt::Debug + Send + Sync {
    /// The names of the files and folders that are directly in the folder.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    fn entries(&self) -> Result<FolderEntries>;

    /// The bytes of a file in the folder, or below it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is no such file, and when it cannot be opened.
    fn open(&self, name: &str) -> Result<ByteRange>;

    /// Whether there is a file of that name, directly in the folder or below it.
    ///
    /// # Errors
    /// When that cannot be told.
    fn has_file(&self, name: &str) -> Result<bool> {
        match self.open(name) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The path by which an error or a report calls a file of the folder; with an empty name, the
    /// folder itself.
    fn path(&self, name: &str) -> PathBuf;
}

/// The names of the files and folders directly in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FolderEntries {
    /// The names of the files.
    pub files: Vec<String>,
    /// The names of the folders.
    pub folders: Vec<String>,
}

/// A folder on the disk.
#[derive(Debug)]
pub struct LocalFolder {
    path: PathBuf,
    memory_map: bool,
    opened: AtomicUsize,
}

impl LocalFolder {
    /// The folder of that path, whose files are mapped into memory or, without `memory_map`, read
    /// whole. An empty path is the current folder. The folder is not looked at.
    pub fn new(path: impl Into<PathBuf>, memory_map: bool) -> Self {
        Self {
            path: path.into(),
            memory_map,
            opened: AtomicUsize::new(0),
        }
    }

    /// The folder that a path is, or else the one that its file is in, with the name of the file.
    ///
    /// # Errors
    /// When the file has no name, or one that is not UTF-8.
    pub fn for_path(path: &Path, is_folder: bool) -> Result<(Self, Option<String>)> {
        if is_folder {
            return Ok((Self::new(path, true), None));
        }
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| {
            Error::unsupported("expected the path of a file whose name is UTF-8").in_path(path)
        })?;
        let folder = Self::new(path.parent().unwrap_or(Path::new("")), true);
        Ok((folder, Some(name.to_owned())))
    }
}

impl Folder for LocalFolder {
    /// A name that is not Unicode is left out: no checkpoint has one.
    fn entries(&self) -> Result<FolderEntries> {
        let mut entries = FolderEntries::default();
        let path = if self.path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &self.path
        };
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if entry.path().is_dir() {
                entries.folders.push(name);
            } else {
                entries.files.push(name);
            }
        }
        Ok(entries)
    }

    fn open(&self, name: &str) -> Result<ByteRange> {
        let path = self.path(name);
        if !self.memory_map {
            return Source::read(path).map(ByteRange::from);
        }
        let source = Source::open(path)?;
        let is_many = self.opened.fetch_add(1, Ordering::Relaxed) >= MAX_OPEN_FILES;
        if is_many {
            return Ok(source.with_file_closed().into());
        }
        Ok(source.into())
    }

    fn has_file(&self, name: &str) -> Result<bool> {
        Ok(self.path(name).is_file())
    }

    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() {
            return self.path.clone();
        }
        self.path.join(name)
    }
}
