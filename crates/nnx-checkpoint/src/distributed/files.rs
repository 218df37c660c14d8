//! The files of a folder that many processes wrote.

use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::{DistributedFault, Error, Result, shown};
use crate::source::{ByteRange, RangeRead};

/// Files that stay open at a time; each further one is opened whenever a piece of it is read.
const MAX_OPEN_FILES: usize = 128;

/// The files of one folder, of which a bounded number is open at a time, whatever the number of
/// ranks. None is mapped: a thousand of them may be larger than the address space.
#[derive(Clone, Debug)]
pub(super) struct RankFiles {
    folder: PathBuf,
    /// How many more may stay open.
    left: Arc<AtomicUsize>,
}

impl RankFiles {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            left: Arc::new(AtomicUsize::new(MAX_OPEN_FILES)),
        }
    }

    /// The path of a name that the checkpoint states.
    ///
    /// # Errors
    /// When the name would lead out of the folder, or means something else on another system.
    pub(super) fn path(&self, name: &str) -> Result<PathBuf> {
        let path = Path::new(name);
        let is_within = !name.is_empty()
            && !name.contains(['\\', '\0', ':'])
            && path
                .components()
                .all(|part| matches!(part, Component::Normal(_)));
        if is_within {
            return Ok(self.folder.join(path));
        }
        Err(Error::distributed(
            DistributedFault::PathTraversal,
            format!(
                "the checkpoint names the file `{}`, which would be outside its folder",
                shown(name)
            ),
        ))
    }

    /// The bytes of a file. It is opened when they are read.
    ///
    /// # Errors
    /// When there is no such file.
    pub(super) fn open(&self, path: &Path) -> Result<ByteRange> {
        let metadata = fs::metadata(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::distributed(
                DistributedFault::MissingFile,
                "a file of the checkpoint is not there; copy it as well",
            )
            .in_path(path),
            _ => Error::from(error).in_path(path),
        })?;
        if !metadata.is_file() {
            return Err(Error::unsupported(
                "expected a regular file, found a folder, a pipe, a socket or a device",
            )
            .in_path(path));
        }
        Ok(ByteRange::new(Arc::new(RankFile {
            path: path.to_path_buf(),
            len: metadata.len(),
            file: OnceLock::new(),
            left: Arc::clone(&self.left),
        })))
    }
}

/// The names of the files and of the folders in a folder, each sorted.
///
/// # Errors
/// When the folder cannot be listed.
pub(super) fn names(folder: &Path) -> Result<(Vec<String>, Vec<String>)> {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    let listed = fs::read_dir(folder).map_err(|error| Error::from(error).in_path(folder))?;
    for entry in listed {
        let entry = entry.map_err(|error| Error::from(error).in_path(folder))?;
        // A name that is no Unicode is that of no checkpoint.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if entry.path().is_dir() {
            folders.push(name);
        } else {
            files.push(name);
        }
    }
    files.sort();
    folders.sort();
    Ok((files, folders))
}

/// Checks that there is a file of each rank from 0 to `world`, and none of another one. The ranks that
/// were found are in their order.
///
/// # Errors
/// When it is not so.
pub(super) fn check_ranks(what: &str, found: &[u64], world: u64) -> Result<()> {
    if found.iter().copied().eq(0..world) {
        return Ok(());
    }
    let has_all = (0..world).all(|rank| found.binary_search(&rank).is_ok());
    let fault = if has_all {
        DistributedFault::WorldSizeMismatch
    } else {
        DistributedFault::MissingRank
    };
    Err(Error::distributed(
        fault,
        format!("expected {what} of {world} ranks, found those of the ranks {found:?}"),
    ))
}

/// A file that is opened when it is first read.
#[derive(Debug)]
struct RankFile {
    path: PathBuf,
    len: u64,
    file: OnceLock<File>,
    left: Arc<AtomicUsize>,
}

impl RankFile {
    /// The file, if it may stay open.
    fn kept(&self) -> Option<&File> {
        if let Some(file) = self.file.get() {
            return Some(file);
        }
        let less = |left: usize| left.checked_sub(1);
        let order = Ordering::Relaxed;
        self.left.fetch_update(order, order, less).ok()?;
        let file = File::open(&self.path).ok();
        // Another thread may be faster; an error will be told by who reads.
        if file.is_none_or(|file| self.file.set(file).is_err()) {
            self.left.fetch_add(1, order);
        }
        self.file.get()
    }
}

impl Drop for RankFile {
    fn drop(&mut self) {
        if self.file.get().is_some() {
            self.left.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl RangeRead for RankFile {
    fn byte_len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let mut read = || match self.kept() {
            Some(file) => read_exact_at(file, offset, into),
            None => read_exact_at(&File::open(&self.path)?, offset, into),
        };
        read().map_err(|error| Error::from(error).in_path(&self.path))
    }

    fn file(&self) -> Option<&File> {
        self.kept()
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, offset: u64, into: &mut [u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, offset)
}

/// A read on Windows takes its own offset, so that threads do not move each other's position.
#[cfg(windows)]
fn read_exact_at(file: &File, mut offset: u64, mut into: &mut [u8]) -> std::io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !into.is_empty() {
        let read = match file.seek_read(into, offset) {
            Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        offset = offset.saturating_add(read as u64);
        into = into.get_mut(read..).unwrap_or_default();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_rank_is_told_from_one_too_many() {
        let fault = |found: &[u64], world| {
            let error = check_ranks("the files", found, world).err();
            error.map(|error| error.name())
        };
        assert_eq!(fault(&[0, 1, 2], 3), None);
        assert_eq!(fault(&[0, 2], 3), Some("missing_rank"));
        assert_eq!(fault(&[0, 2, 3], 3), Some("missing_rank"));
        assert_eq!(fault(&[0, 1, 2, 3], 3), Some("world_size_mismatch"));
        assert_eq!(fault(&[0, 1, 1], 2), Some("world_size_mismatch"));
        assert_eq!(fault(&[0], u64::MAX), Some("missing_rank"));
    }
}
