//! A file that is being written beside the one that it will replace.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::orphans;
use crate::error::{Error, ErrorKind, Result};

/// Links that are followed from one to the next, as many as Linux follows.
const MAX_LINKS: usize = 40;
/// Names that are tried for the temporary file.
const MAX_TRIES: usize = 100;

/// A file beside its target, gone when it is dropped before it replaced the target.
///
/// It is locked while this process lives, by which an orphan can be told from a file that is being
/// written.
#[derive(Debug)]
pub(crate) struct NewFile {
    temporary: NamedTempFile,
    target: PathBuf,
    folder: PathBuf,
}

impl NewFile {
    /// A new empty file beside the target, with the mode that the target has or would get. Missing
    /// folders are made, and files that a killed process left of the same target are removed.
    ///
    /// # Errors
    /// When the target is a directory, a pipe, a socket or a device, its links lead in a circle, or
    /// the operating system refuses.
    pub(crate) fn beside(target: &Path) -> Result<Self> {
        let target = resolve(target)?;
        let old = replaceable(&target)?;
        let folder = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        fs::create_dir_all(&folder)?;
        let name = orphans::TemporaryName::new(&target)?;
        orphans::remove(&folder, &name);
        let temporary = temporary(&folder, &name)?;
        if let Some(old) = old {
            keep_mode(temporary.as_file(), &old)?;
        }
        Ok(Self {
            temporary,
            target,
            folder,
        })
    }

    /// The file, open for reading and writing.
    pub(crate) fn file(&self) -> &File {
        self.temporary.as_file()
    }

    /// Waits until the disk has every byte.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn sync(&self) -> Result<()> {
        Ok(self.file().sync_all()?)
    }

    /// Puts the file in the target's place, in one step.
    ///
    /// # Errors
    /// When the operating system refuses; the target is unchanged then.
    pub(crate) fn replace_target(self) -> Result<()> {
        self.temporary
            .persist(&self.target)
            .map_err(|error| error.error)?;
        sync_folder(&self.folder);
        Ok(())
    }

    /// Puts the file in the target's place, in one step, unless there is one.
    ///
    /// # Errors
    /// [`ErrorKind::TargetExists`] when there is one, and when the operating system refuses.
    pub(crate) fn become_target(self) -> Result<()> {
        self.temporary
            .persist_noclobber(&self.target)
            .map_err(|error| match error.error.kind() {
                io::ErrorKind::AlreadyExists => Error::new(ErrorKind::TargetExists),
                _ => error.error.into(),
            })?;
        sync_folder(&self.folder);
        Ok(())
    }
}

/// A new file beside the target, hidden, and named after it so that its origin can be told.
fn temporary(folder: &Path, name: &orphans::TemporaryName) -> Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(name.prefix()).suffix(orphans::SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The operating system takes the umask off.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    for _ in 0..MAX_TRIES {
        let file = builder.tempfile_in(folder)?;
        if orphans::claim(&file) {
            return Ok(file);
        }
    }
    Err(Error::unsupported(
        "other processes remove every temporary file that is made beside the target",
    ))
}

/// Follows symbolic links, also one that leads to no file yet.
fn resolve(path: &Path) -> Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(next) => {
                target = match target.parent() {
                    Some(parent) => parent.join(next),
                    None => next,
                };
            }
            // It is no link, or does not exist.
            Err(_) => return Ok(target),
        }
    }
    Err(Error::unsupported(format!(
        "more than {MAX_LINKS} symbolic links follow each other"
    )))
}

/// The kind of the existing target: a rename would replace a device as readily as a file.
fn replaceable(target: &Path) -> Result<Option<Metadata>> {
    let old = match fs::symlink_metadata(target) {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if old.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    }
    if !old.is_file() {
        return Err(Error::unsupported(
            "expected a regular file to replace, found a pipe, a socket or a device",
        ));
    }
    Ok(Some(old))
}

#[cfg(unix)]
fn keep_mode(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn keep_mode(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Makes the rename outlast a loss of power, as far as the file system can: the file is in place
/// already, so an error here is no failure of the save.
#[cfg(unix)]
fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) {}
