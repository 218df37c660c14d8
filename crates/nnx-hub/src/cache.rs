//! The cache on the disk, in the layout of `huggingface_hub`.
//!
//! ```text
//! models--owner--name/
//!   blobs/<hash>                 the files, named by the hash that the repository states
//!   snapshots/<commit>/<file>    links to them, or the files where there are no links
//!   refs/<branch or tag>         the commit that it named
//!   trees/<commit>.json          the list of the repository's files at a commit
//!   verified.json                the files that were hashed, and their times then
//! .locks/models--owner--name/<hash>.lock
//! ```

mod listing;
mod lock;
mod partial;
mod pointer;
mod verified;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use self::verified::VerifiedFiles;
pub(crate) use self::verified::{CacheCheck, Stamp};
use crate::digest::{self, Digest, is_hex};
use crate::error::{Error, ErrorKind, Result};
use crate::repo_id::RepoId;

/// The part of the cache for one repository.
#[derive(Debug)]
pub(crate) struct RepoCache {
    root: PathBuf,
    locks: PathBuf,
    /// Whether symbolic links are created if the file system supports them.
    symlinks: bool,
    /// When files are hashed before they are used.
    check: CacheCheck,
    verified: VerifiedFiles,
}

impl RepoCache {
    pub(crate) fn new(cache: &Path, repo: &RepoId, symlinks: bool, check: CacheCheck) -> Self {
        let name = format!("models--{}", repo.as_str().replace('/', "--"));
        Self {
            locks: cache.join(".locks").join(&name),
            root: cache.join(name),
            symlinks,
            check,
            verified: VerifiedFiles::default(),
        }
    }

    fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    fn blob(&self, digest: &Digest) -> PathBuf {
        self.blobs().join(digest.hex())
    }

    pub(crate) fn snapshot(&self, commit: &str) -> PathBuf {
        self.root.join("snapshots").join(commit)
    }

    /// The commit of a revision when it was last requested; a complete commit hash is returned as
    /// it is.
    pub(crate) fn commit_of(&self, revision: &str) -> Option<String> {
        if is_hex(revision, 40) {
            return Some(revision.to_owned());
        }
        let text = fs::read_to_string(self.root.join("refs").join(revision)).ok()?;
        Some(text.trim().to_owned()).filter(|commit| is_hex(commit, 40))
    }

    /// Records the commit of a revision, and returns whether this was possible. It is not possible
    /// if `dev` is recorded as a file and `dev/1` needs a folder of that name, or if the cache is
    /// read-only. As in `huggingface_hub`, the downloaded files are still used.
    ///
    /// # Errors
    /// When the operating system returns another error.
    pub(crate) fn set_commit(&self, revision: &str, commit: &str) -> Result<bool> {
        match self.note_commit(revision, commit) {
            Ok(()) => Ok(true),
            Err(error) => match error.kind() {
                ErrorKind::Io { source, .. } if is_in_the_way(source) => Ok(false),
                _ => Err(error),
            },
        }
    }

    fn note_commit(&self, revision: &str, commit: &str) -> Result<()> {
        if revision == commit {
            return Ok(());
        }
        let path = self.root.join("refs").join(revision);
        if fs::read(&path).is_ok_and(|noted| noted == commit.as_bytes()) {
            return Ok(());
        }
        let io = |error| Error::io(&path, error);
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(io)?;
        let blobs = self.blobs();
        fs::create_dir_all(&blobs).map_err(io)?;
        let mut file = temporary(&blobs, ".ref.", ".tmp").map_err(io)?;
        file.write_all(commit.as_bytes()).map_err(io)?;
        file.persist(&path).map_err(|error| io(error.error))?;
        Ok(())
    }

    /// Whether the cache has the complete file and, if it is to be checked, its hash is right. A file
    /// that is not right is kept until another one replaces it.
    ///
    /// # Errors
    /// When the operating system refuses to read it.
    pub(crate) fn has(&self, digest: &Digest, bytes: Option<u64>) -> Result<bool> {
        Ok(self.is_sound(&self.blob(digest), digest, bytes)? == Some(true))
    }

    /// Whether a snapshot has the file. Without a listing, the name of the link contains the
    /// expected hash, and a file that is not a link is accepted.
    ///
    /// # Errors
    /// When the operating system refuses to read it.
    pub(crate) fn holds(
        &self,
        commit: &str,
        name: &str,
        known: Option<(&Digest, u64)>,
    ) -> Result<bool> {
        let path = self.snapshot(commit).join(name);
        match (linked(&path), known) {
            (Some(linked), Some((digest, bytes))) => {
                Ok(linked == *digest && self.has(digest, Some(bytes))?)
            }
            (Some(linked), None) => self.has(&linked, None),
            (None, Some((digest, bytes))) => {
                Ok(self.is_sound(&path, digest, Some(bytes))? == Some(true))
            }
            (None, None) => Ok(path.is_file()),
        }
    }

    /// Whether a snapshot has the file itself, as where there are no links, and not a name of the
    /// cache's file.
    ///
    /// # Errors
    /// When the operating system refuses to read it.
    pub(crate) fn has_copy(
        &self,
        commit: &str,
        name: &str,
        (digest, bytes): (&Digest, u64),
    ) -> Result<bool> {
        let path = self.snapshot(commit).join(name);
        if linked(&path).is_some() || pointer::is_same(&path, &self.blob(digest)) {
            return Ok(false);
        }
        Ok(self.is_sound(&path, digest, Some(bytes))? == Some(true))
    }

    /// The stamps of the cache's file and of the snapshot's: equal as long as neither is written.
    pub(crate) fn stamps(&self, commit: &str, name: &str, digest: &Digest) -> [Option<Stamp>; 2] {
        let paths = [self.blob(digest), self.snapshot(commit).join(name)];
        paths.map(|path| Stamp::from_path(&path))
    }

    /// Whether a file has the requested hash, if it is to be checked; `None` if the file does not
    /// exist.
    fn is_sound(&self, path: &Path, digest: &Digest, bytes: Option<u64>) -> Result<Option<bool>> {
        let io = |error| Error::io(path, error);
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error)),
        };
        let about = file.metadata().map_err(io)?;
        if bytes.is_some_and(|bytes| bytes != about.len()) {
            return Ok(Some(false));
        }
        let stamp = Stamp::new(&about);
        let was_verified = || stamp.is_some_and(|stamp| self.was_verified(path, digest, stamp));
        match self.check {
            CacheCheck::Sizes => return Ok(Some(true)),
            CacheCheck::Changed if was_verified() => return Ok(Some(true)),
            CacheCheck::Changed | CacheCheck::Everything => {}
        }
        let stamp = stamp.filter(Stamp::settle);
        let is_sound = digest::matches(&mut file, digest, about.len()).map_err(io)?;
        if let (true, Some(stamp)) = (is_sound, stamp) {
            self.add_verified(path, digest, stamp);
        }
        Ok(Some(is_sound))
    }

    /// The names of the files in a snapshot, including links whose target is missing.
    ///
    /// # Errors
    /// When the operating system returns an error.
    pub(crate) fn names(&self, commit: &str) -> Result<Vec<String>> {
        let root = self.snapshot(commit);
        let mut names = Vec::new();
        let mut folders = vec![String::new()];
        while let Some(below) = folders.pop() {
            let folder = root.join(&below);
            let io = |error| Error::io(&folder, error);
            for entry in fs::read_dir(&folder).map_err(io)? {
                let entry = entry.map_err(io)?;
                let name = format!("{below}{}", entry.file_name().to_string_lossy());
                if entry.file_type().map_err(io)?.is_dir() {
                    folders.push(format!("{name}/"))
                } else {
                    names.push(name)
                }
            }
        }
        names.sort();
        Ok(names)
    }
}

/// The hash of the cache's file that a file of a snapshot is a link to, if it is one.
fn linked(path: &Path) -> Option<Digest> {
    let target = fs::read_link(path).ok()?;
    Digest::from_hex(target.file_name()?.to_str()?)
}

/// Whether the error means that something else is at the path, or that nothing may be written
/// there.
fn is_in_the_way(error: &io::Error) -> bool {
    use io::ErrorKind::{
        AlreadyExists, DirectoryNotEmpty, IsADirectory, NotADirectory, PermissionDenied,
        ReadOnlyFilesystem,
    };
    matches!(
        error.kind(),
        AlreadyExists
            | DirectoryNotEmpty
            | IsADirectory
            | NotADirectory
            | PermissionDenied
            | ReadOnlyFilesystem
    )
}

/// A new file with the mode that the user's umask gives.
fn temporary(folder: &Path, prefix: &str, suffix: &str) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(suffix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}
