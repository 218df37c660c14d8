//! Why something could not be looked at.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::Error;

/// Why a file, or a part of one, could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanError {
    name: &'static str,
    what: String,
    offset: Option<u64>,
    entry: Option<String>,
    path: Option<PathBuf>,
}

impl ScanError {
    pub(super) fn new(name: &'static str, what: impl Into<String>) -> Self {
        Self {
            name,
            what: what.into(),
            offset: None,
            entry: None,
            path: None,
        }
    }

    /// The kind's name for scripts: one of those of [`ErrorKind::name`](crate::ErrorKind::name).
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The fault, without its location.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Bytes from the start of the [`entry`](Self::entry) where there is one, else of the file.
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// The archive entry.
    pub fn entry(&self) -> Option<&str> {
        self.entry.as_deref()
    }

    /// The file, where it could not be read as a whole.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Names the archive entry; one that is named already is within it.
    pub(super) fn in_entry(mut self, entry: &str) -> Self {
        self.entry = Some(entry.to_owned());
        self
    }

    /// Names the file, unless one is named already.
    pub(super) fn in_path(mut self, path: &Path) -> Self {
        self.path.get_or_insert_with(|| path.to_owned());
        self
    }

    /// Changes the offset.
    pub(super) fn at(mut self, offset: Option<u64>) -> Self {
        self.offset = offset;
        self
    }
}

impl From<Error> for ScanError {
    fn from(error: Error) -> Self {
        Self {
            name: error.kind().name(),
            what: error.kind().to_string(),
            offset: error.offset(),
            entry: error.entry().map(ToOwned::to_owned),
            path: error.path().map(ToOwned::to_owned),
        }
    }
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(entry) = &self.entry {
            write!(f, " in entry `{}`", crate::error::shown(entry))?;
        }
        match self.offset {
            Some(offset) => write!(f, " at offset {offset:#x}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ScanError {}
