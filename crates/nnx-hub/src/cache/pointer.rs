//! The files of a snapshot, which point to the files of the cache.

use std::fs;
use std::io;
use std::path::Path;

use super::RepoCache;
use crate::digest::Digest;
use crate::error::{Error, Result};

impl RepoCache {
    /// Puts a file of the cache into a snapshot: as a symbolic link if possible, else as a hard
    /// link, else as a copy. As in `huggingface_hub`, a file that was just downloaded (`is_new`) is
    /// moved instead of copied, so that it is not on the disk twice.
    ///
    /// # Errors
    /// When the operating system returns an error.
    pub(crate) fn link(
        &self,
        commit: &str,
        name: &str,
        digest: &Digest,
        is_new: bool,
    ) -> Result<()> {
        let path = self.snapshot(commit).join(name);
        let blob = self.blob(digest);
        let io = |error| Error::io(&path, error);
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(io)?;
        // From the folder of the link up to the folder of the repository.
        let up = "../".repeat(name.split('/').count().saturating_add(1));
        let target = format!("{up}blobs/{}", digest.hex());
        let is_file = path.symlink_metadata().is_ok_and(|about| about.is_file());
        let is_there = if is_file {
            is_same(&path, &blob) || self.is_sound(&path, digest, None)? == Some(true)
        } else {
            fs::read_link(&path).is_ok_and(|found| found == Path::new(&target))
        };
        if is_there {
            return Ok(());
        }
        // The link is created in another folder first, so that a process that is stopped here
        // leaves no incomplete link in the snapshot.
        let made = tempfile::Builder::new()
            .prefix(".link.")
            .suffix(".tmp")
            .make_in(self.blobs(), |link| {
                if self.symlinks {
                    match symlink(&target, link) {
                        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {}
                        result => return result,
                    }
                }
                // The file system has no such links, or the user may not create them.
                match fs::hard_link(&blob, link) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {}
                    result => return result,
                }
                if is_new {
                    fs::rename(&blob, link)
                } else {
                    fs::copy(&blob, link).map(drop)
                }
            })
            .map_err(io)?;
        made.persist(&path).map_err(|error| io(error.error))?;
        Ok(())
    }
}

#[cfg(unix)]
fn symlink(target: &str, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

/// On Windows, links need a permission that users do not have.
#[cfg(not(unix))]
fn symlink(_: &str, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Whether two names refer to one file.
#[cfg(unix)]
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let number = |path: &Path| fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    number(one).is_some_and(|found| Some(found) == number(other))
}

#[cfg(not(unix))]
pub(super) fn is_same(_: &Path, _: &Path) -> bool {
    false
}
