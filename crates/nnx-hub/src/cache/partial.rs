//! Partial downloads in the cache.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

use tempfile::NamedTempFile;

use super::{RepoCache, Stamp, temporary};
use crate::digest::Digest;
use crate::error::{Error, Result};

/// The end of the name of a partial file, here and in Python.
const INCOMPLETE: &str = ".incomplete";

impl RepoCache {
    /// A file to download into.
    ///
    /// # Errors
    /// When the operating system returns an error.
    pub(crate) fn incomplete(&self, digest: &Digest) -> Result<NamedTempFile> {
        let folder = self.blobs();
        fs::create_dir_all(&folder).map_err(|error| Error::io(&folder, error))?;
        temporary(&folder, &format!("{}.", digest.hex()), INCOMPLETE)
            .map_err(|error| Error::io(&folder, error))
    }

    /// The partial files of stopped processes, the longest first. The caller must hold the file's
    /// [`lock`](Self::lock), because otherwise another process may still be writing them.
    pub(crate) fn leftover(&self, digest: &Digest, bytes: u64) -> Option<File> {
        let fits = |file: &File| {
            let found = file.metadata().ok().map(|about| about.len());
            found.is_some_and(|found| (1..=bytes).contains(&found))
        };
        let files = self.leftovers(digest).into_iter();
        files.filter_map(|path| File::open(path).ok()).find(fits)
    }

    /// Removes the partial files of a file that is complete, under the same condition.
    pub(crate) fn remove_leftovers(&self, digest: &Digest) {
        for path in self.leftovers(digest) {
            let _ = fs::remove_file(path);
        }
    }

    /// The hashes of the files that have partial files. The folder is read once for all files, because
    /// it has as many names as the repository has files.
    pub(crate) fn hashes_of_leftovers(&self) -> HashSet<String> {
        let entries = fs::read_dir(self.blobs()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let partial = names.filter(|name| name.ends_with(INCOMPLETE));
        partial
            .filter_map(|name| Some(name.split_once('.')?.0.to_owned()))
            .collect()
    }

    /// The longest first.
    fn leftovers(&self, digest: &Digest) -> Vec<PathBuf> {
        let is_own = |name: &str| {
            let rest = name.strip_prefix(digest.hex());
            rest.is_some_and(|rest| rest.starts_with('.') && rest.ends_with(INCOMPLETE))
        };
        let entries = fs::read_dir(self.blobs()).into_iter().flatten().flatten();
        let mut found: Vec<(u64, PathBuf)> = entries
            .filter(|entry| entry.file_name().to_str().is_some_and(is_own))
            .filter_map(|entry| {
                let about = entry.path().symlink_metadata().ok()?;
                about.is_file().then(|| (about.len(), entry.path()))
            })
            .collect();
        found.sort_by(|one, other| other.cmp(one));
        found.into_iter().map(|(_, path)| path).collect()
    }

    /// Moves a downloaded file to its final name, and returns its stamp.
    ///
    /// # Errors
    /// When the operating system returns an error.
    pub(crate) fn keep(&self, file: NamedTempFile, digest: &Digest) -> Result<Option<Stamp>> {
        let path = self.blob(digest);
        let io = |error: io::Error| Error::io(&path, error);
        file.as_file().sync_all().map_err(io)?;
        let kept = file.persist(&path).map_err(|error| io(error.error))?;
        Ok(kept.metadata().ok().as_ref().and_then(Stamp::new))
    }
}
