//! Reserving a run for one training session.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::best_run::release_pointer;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{COMMITTED_BY_LAST, HISTORY, RunFolder, runs_folder};
use crate::lock::FileLock;
use crate::run::NNRun;
use crate::stage::replace_text;

/// A run that is reserved for one training session until this value is dropped.
///
/// If no epoch was saved by then, dropping removes the run's folder, so that the training can be
/// started again. A run that was to be [replaced](Self::replace), and was not, stays as it is.
#[derive(Debug)]
pub struct RunLease {
    folder: RunFolder,
    root: PathBuf,
    /// Whether the folder is still that of the run that is to be replaced.
    has_earlier_run: bool,
    // Fields are dropped after `drop` has run, so the lock is held while the folder is removed.
    _lock: FileLock,
}

impl NNRun {
    /// Reserves the folder of the run for a training session, and marks its history as committed by
    /// its checkpoint `last`.
    ///
    /// With `overwrite` an existing run is removed, after the pointer `best` was moved to another
    /// run.
    ///
    /// # Errors
    /// [`ErrorKind::RunInTraining`] when another training, in Python too, has reserved the run;
    /// [`ErrorKind::RunExists`] when the run exists and `overwrite` is not set; when the operating
    /// system refuses.
    pub fn reserve(&self, root: impl AsRef<Path>, overwrite: bool) -> Result<RunLease> {
        let mut lease = self.lease(root.as_ref(), overwrite)?;
        lease.replace()?;
        Ok(lease)
    }

    /// Reserves the run as [`reserve`](Self::reserve) does with `overwrite`, but an existing run stays
    /// as it is until [`RunLease::replace`] is called.
    ///
    /// # Errors
    /// [`ErrorKind::RunInTraining`] when another training, in Python too, has reserved the run; when
    /// the operating system refuses.
    pub fn reserve_to_replace(&self, root: impl AsRef<Path>) -> Result<RunLease> {
        self.lease(root.as_ref(), true)
    }

    fn lease(&self, root: &Path, overwrite: bool) -> Result<RunLease> {
        let folder = RunFolder::new(self.id(), root)?;
        let runs = runs_folder(root);
        let leases = runs.join(".leases");
        create(&leases)?;
        let path = leases.join(format!("{}.lock", self.id()));
        let lock = FileLock::try_exclusive(&path);
        let lock = lock.map_err(|error| Error::from(error).in_path(&path))?;
        let Some(lock) = lock else {
            let id = folder.id;
            return Err(Error::new(ErrorKind::RunInTraining { id }).in_path(&folder.path));
        };
        let _admission = exclusive(&admission(root))?;
        let exists = fs::symlink_metadata(&folder.path).is_ok();
        if exists && !overwrite {
            let id = folder.id;
            return Err(Error::new(ErrorKind::RunExists { id }).in_path(&folder.path));
        }
        let lease = RunLease {
            folder,
            root: root.to_owned(),
            has_earlier_run: exists,
            _lock: lock,
        };
        if !exists {
            lease.create_folder()?;
        }
        Ok(lease)
    }
}

impl RunLease {
    /// The run's folder.
    pub fn folder(&self) -> &Path {
        &self.folder.path
    }

    /// Whether the folder is still that of an existing run, which [`replace`](Self::replace) removes.
    pub fn has_earlier_run(&self) -> bool {
        self.has_earlier_run
    }

    /// Removes the existing run, if there still is one, after the pointer `best` was moved to another
    /// run. It must be called before anything of the new run is written.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn replace(&mut self) -> Result<()> {
        if !self.has_earlier_run {
            return Ok(());
        }
        let folder = &self.folder;
        let _admission = exclusive(&admission(&self.root))?;
        release_pointer(&folder.id, &self.root)?;
        // First the file without which a folder is not a run, so that a process killed on the way
        // leaves no run with some of its files.
        let run_yaml = folder.run_yaml();
        match fs::remove_file(&run_yaml) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::from(error).in_path(&run_yaml));
            }
            _ => {}
        }
        fs::remove_dir_all(&folder.path)
            .map_err(|error| Error::from(error).in_path(&folder.path))?;
        self.has_earlier_run = false;
        self.create_folder()
    }

    /// Creates the folder, with the mark of its history.
    fn create_folder(&self) -> Result<()> {
        let path = &self.folder.path;
        fs::create_dir(path).map_err(|error| Error::from(error).in_path(path))?;
        replace_text(&self.folder.committed_by_last(), "1\n")
    }
}

impl Drop for RunLease {
    fn drop(&mut self) {
        if !self.has_earlier_run {
            remove_if_empty(&self.folder.path);
        }
    }
}

/// Removes a folder that holds only the mark and a journal. Errors are ignored: a destructor cannot
/// report them, and a folder that remains does no harm.
fn remove_if_empty(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    // The temporary file of a mark that was not completely written.
    let temporary = format!(".{COMMITTED_BY_LAST}.");
    let mut paths = Vec::new();
    for entry in entries {
        let Ok(entry) = entry else {
            return;
        };
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // A journal written before the first `run.yaml` has no epoch that counts.
        if name != COMMITTED_BY_LAST && name != HISTORY && !name.starts_with(&temporary) {
            return;
        }
        paths.push(entry.path());
    }
    for path in paths {
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir());
        let _ = if is_folder {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        };
    }
    let _ = fs::remove_dir(folder);
}

/// The lock under which runs begin and end.
fn admission(root: &Path) -> PathBuf {
    runs_folder(root).join(".admission.lock")
}

fn create(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| Error::from(error).in_path(folder))
}

fn exclusive(path: &Path) -> Result<FileLock> {
    FileLock::exclusive(path).map_err(|error| Error::from(error).in_path(path))
}
