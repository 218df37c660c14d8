//! Reserving a run for one training session.

use std::fs;
use std::path::{Path, PathBuf};

use super::NNRun;
use crate::best;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{COMMITTED_BY_LAST, HISTORY, RunFolder, runs_folder};
use crate::lock::FileLock;
use crate::stage::replace_text;

/// A run that one training session owns, until it is dropped.
///
/// Dropped before a first epoch was saved, it leaves no folder behind, so that the training can be
/// tried again.
#[derive(Debug)]
pub struct RunLease {
    folder: PathBuf,
    // Fields are dropped after `drop` has run, so that the lock is held while the folder goes.
    _lock: FileLock,
}

impl NNRun {
    /// Reserves the folder of the run for a training session, and marks its history as committed by
    /// its checkpoint `last`. Waits while another process, Python's included, trains the same run.
    ///
    /// With `overwrite` a run that exists is removed, the pointer to the best run first.
    ///
    /// # Errors
    /// [`ErrorKind::RunExists`] when the run exists and is not to be overwritten; when the operating
    /// system refuses.
    pub fn reserve(&self, root: impl AsRef<Path>, overwrite: bool) -> Result<RunLease> {
        let root = root.as_ref();
        let folder = RunFolder::new(&self.id, root)?;
        let runs = runs_folder(root);
        let leases = runs.join(".leases");
        create(&leases)?;
        let lock = exclusive(&leases.join(format!("{}.lock", self.id)))?;
        {
            let _admission = exclusive(&runs.join(".admission.lock"))?;
            if fs::symlink_metadata(&folder.path).is_ok() {
                if !overwrite {
                    let id = self.id.clone();
                    return Err(Error::new(ErrorKind::RunExists { id }).in_path(&folder.path));
                }
                best::hand_on(&self.id, root)?;
                fs::remove_dir_all(&folder.path)
                    .map_err(|error| Error::from(error).in_path(&folder.path))?;
            }
            fs::create_dir(&folder.path)
                .map_err(|error| Error::from(error).in_path(&folder.path))?;
        }
        let lease = RunLease {
            folder: folder.path.clone(),
            _lock: lock,
        };
        replace_text(&folder.committed_by_last(), "1\n")?;
        Ok(lease)
    }
}

impl RunLease {
    /// The run's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for RunLease {
    fn drop(&mut self) {
        release_if_empty(&self.folder);
    }
}

/// Removes a folder that holds nothing but the mark, and a journal. What cannot be removed stays, as there is
/// nobody left to tell.
fn release_if_empty(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    // A mark that was not finished stands under a temporary name.
    let temporary = format!(".{COMMITTED_BY_LAST}.");
    let mut paths = Vec::new();
    for entry in entries {
        let Ok(entry) = entry else {
            return;
        };
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // A journal that was written before the first `run.yaml` holds no epoch that counts.
        if name != COMMITTED_BY_LAST && name != HISTORY && !name.starts_with(&temporary) {
            return;
        }
        paths.push(entry.path());
    }
    for path in paths {
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        let _ = match is_folder {
            true => fs::remove_dir_all(path),
            false => fs::remove_file(path),
        };
    }
    let _ = fs::remove_dir(folder);
}

fn create(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| Error::from(error).in_path(folder))
}

fn exclusive(path: &Path) -> Result<FileLock> {
    FileLock::exclusive(path).map_err(|error| Error::from(error).in_path(path))
}
