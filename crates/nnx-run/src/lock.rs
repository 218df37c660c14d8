//! The lock files of a run, which Python's processes lock as well.
//!
//! NNx uses the package `filelock`: an exclusive `flock` of a file that is not removed afterwards on
//! Unix, a lock of the file's bytes on Windows. [`File::lock`] makes the same call on both.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(crate) struct FileLock {
    file: File,
}

impl FileLock {
    /// Waits for the exclusive lock of a file, which is created if it does not exist.
    pub(crate) fn exclusive(path: &Path) -> io::Result<Self> {
        loop {
            let file = opened(path)?;
            wait(|| file.lock())?;
            if is_current(&file, path)? {
                return Ok(Self { file });
            }
        }
    }

    /// The exclusive lock of a file, which is created if it does not exist; `None` if another process
    /// holds the lock.
    pub(crate) fn try_exclusive(path: &Path) -> io::Result<Option<Self>> {
        loop {
            let file = opened(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            if is_current(&file, path)? {
                return Ok(Some(Self { file }));
            }
        }
    }

    /// Waits until no writer holds the lock, and keeps writers out. `None` if there is no lock file,
    /// which means that there never was a writer. Nothing is created.
    pub(crate) fn shared(path: &Path) -> io::Result<Option<Self>> {
        loop {
            refuse_others(path)?;
            let file = match File::open(path) {
                Ok(file) => file,
                Err(error) if is_absence(&error) => return Ok(None),
                Err(error) => return Err(error),
            };
            wait(|| file.lock_shared())?;
            if is_current(&file, path)? {
                return Ok(Some(Self { file }));
            }
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // A process that is just being started from this one has a copy of the file for a moment, which
        // would keep the lock after the file was closed here. A failure leaves it to the closing.
        let _ = self.file.unlock();
    }
}

/// Opens a lock file, which is created if it does not exist.
fn opened(path: &Path) -> io::Result<File> {
    refuse_others(path)?;
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// Whether an error says that a file, or a folder of its path, does not exist.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn wait(lock: impl Fn() -> io::Result<()>) -> io::Result<()> {
    loop {
        match lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Refuses a link, as `filelock` does, and anything else than a file: opening a pipe, for example,
/// could block forever.
fn refuse_others(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(about) if about.is_symlink() => "a symbolic link",
        Ok(about) if !about.is_file() => "something else",
        _ => return Ok(()),
    };
    let what = format!("expected a lock file, found {found}");
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// Whether the locked file is still the one at the path. The previous owner of the lock may have
/// removed the folder; a lock of a removed file excludes nobody.
#[cfg(unix)]
fn is_current(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;

    let held = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(current) => Ok(held.dev() == current.dev() && held.ino() == current.ino()),
        Err(error) if is_absence(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_current(_file: &File, _path: &Path) -> io::Result<bool> {
    // There an open file cannot be removed.
    Ok(true)
}
