//! The locks that prevent two processes, of Rust or Python, from downloading the same file at once.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use super::RepoCache;
use crate::digest::Digest;
use crate::error::{Error, Result};

/// The mode of a lock file, as in `huggingface_hub`: users of one group may share a cache.
#[cfg(unix)]
const MODE: u32 = 0o664;

/// The standard library has no kind for "No locks available".
const ENOLCK: i32 = if cfg!(target_vendor = "apple") {
    77
} else {
    37
};
/// NFS locks only files that are open for writing, and otherwise returns "bad descriptor".
const EBADF: i32 = 9;

/// A lock, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
    /// Whether another process had it.
    pub(crate) waited: bool,
}

impl RepoCache {
    /// Waits for the lock of a file and holds it until the result is dropped; `None` if the file
    /// system has no locks or the folder of the locks belongs to another user. A lock only avoids
    /// work: every download has a separate temporary file, which is renamed in one step.
    ///
    /// # Errors
    /// When the operating system returns another error.
    pub(crate) fn lock(&self, digest: &Digest) -> Result<Option<Lock>> {
        let path = self.locks.join(format!("{}.lock", digest.hex()));
        match locked(&self.locks, &path) {
            Ok(lock) => Ok(Some(lock)),
            Err(error) if is_unavailable(&error) => Ok(None),
            Err(error) => Err(Error::io(&path, error)),
        }
    }
}

pub(super) fn locked(folder: &Path, path: &Path) -> io::Result<Lock> {
    fs::create_dir_all(folder)?;
    let file = opened(path)?;
    let waited = match file.try_lock() {
        Ok(()) => false,
        Err(_) => {
            wait(&file)?;
            true
        }
    };
    Ok(Lock {
        _file: file,
        waited,
    })
}

fn wait(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Opens a lock file, which is made if it is absent. One that another user has made can be locked
/// without the permission to write to it.
fn opened(path: &Path) -> io::Result<File> {
    // A link leads elsewhere, and opening a pipe would wait for its other end.
    if path.symlink_metadata().is_ok_and(|about| !about.is_file()) {
        let what = "expected a lock file, found something else; remove it";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, MODE);
    match options.open(path) {
        Ok(file) => {
            share(&file);
            Ok(file)
        }
        Err(error) if is_refused(&error) => File::open(path).map_err(|_| error),
        Err(error) => Err(error),
    }
}

/// Lets the group lock a file that this user owns, whatever the umask has left of its mode.
#[cfg(unix)]
fn share(file: &File) {
    use std::os::unix::fs::PermissionsExt;

    let Ok(about) = file.metadata() else { return };
    let mode = about.permissions().mode();
    if mode & MODE != MODE {
        // Another user's file keeps its mode.
        let _ = file.set_permissions(fs::Permissions::from_mode(mode | MODE));
    }
}

#[cfg(not(unix))]
fn share(_: &File) {}

fn is_refused(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    )
}

fn is_unavailable(error: &io::Error) -> bool {
    is_refused(error)
        || error.kind() == io::ErrorKind::Unsupported
        || cfg!(unix) && matches!(error.raw_os_error(), Some(ENOLCK | EBADF))
}
