//! The cache on the disk, in the layout of `huggingface_hub`.
//!
//! ```text
//! models--owner--name/
//!   blobs/<hash>                 the files, named by what the repository states of them
//!   snapshots/<commit>/<file>    links to them
//!   refs/<branch or tag>         the commit that it stood for
//!   trees/<commit>.json          what the repository has at a commit
//! .locks/models--owner--name/<hash>.lock
//! ```

mod listing;
mod partial;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::digest::{self, Digest, is_hex};
use crate::error::{Error, Result};
use crate::repo_id::RepoId;

/// The part of the cache that belongs to one repository.
#[derive(Clone, Debug)]
pub(crate) struct RepoCache {
    root: PathBuf,
    locks: PathBuf,
}

impl RepoCache {
    pub(crate) fn new(cache: &Path, repo: &RepoId) -> Self {
        let name = format!("models--{}", repo.as_str().replace('/', "--"));
        Self {
            locks: cache.join(".locks").join(&name),
            root: cache.join(name),
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

    /// The commit that a revision stood for when it was last asked for; a whole commit is itself.
    pub(crate) fn commit_of(&self, revision: &str) -> Option<String> {
        if is_hex(revision, 40) {
            return Some(revision.to_owned());
        }
        let text = fs::read_to_string(self.root.join("refs").join(revision)).ok()?;
        Some(text.trim().to_owned()).filter(|commit| is_hex(commit, 40))
    }

    /// Notes which commit a revision stands for.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub(crate) fn set_commit(&self, revision: &str, commit: &str) -> Result<()> {
        if revision == commit {
            return Ok(());
        }
        let path = self.root.join("refs").join(revision);
        // A cache that others fill may be read-only.
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

    /// Keeps other processes from the same file, Python's among them, until it is dropped.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub(crate) fn lock(&self, digest: &Digest) -> Result<Option<File>> {
        let path = self.locks.join(format!("{}.lock", digest.hex()));
        let io = |error| Error::io(&path, error);
        fs::create_dir_all(&self.locks).map_err(io)?;
        let options = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let file = options.map_err(io)?;
        match file.lock() {
            Ok(()) => Ok(Some(file)),
            // Some network file systems know no locks; files still get their places in one step.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
            Err(error) => Err(io(error)),
        }
    }

    /// Whether the cache has the file, whole, and, where that is asked for, with the bytes of its
    /// hash. One that it has otherwise stays until another one takes its place.
    ///
    /// # Errors
    /// When the operating system refuses to read it.
    pub(crate) fn has(&self, digest: &Digest, bytes: Option<u64>, verify: bool) -> Result<bool> {
        Ok(is_sound(&self.blob(digest), digest, bytes, verify)? == Some(true))
    }

    /// Puts a file into a snapshot.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub(crate) fn link(&self, commit: &str, name: &str, digest: &Digest) -> Result<()> {
        let path = self.snapshot(commit).join(name);
        let io = |error| Error::io(&path, error);
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(io)?;
        // From the folder of the link up to the repository's.
        let up = "../".repeat(name.split('/').count().saturating_add(1));
        let target = format!("{up}blobs/{}", digest.hex());
        if fs::read_link(&path).is_ok_and(|found| found == Path::new(&target)) {
            return Ok(());
        }
        // Where nobody looks for links: whoever is stopped here leaves none in the snapshot.
        let made = tempfile::Builder::new()
            .prefix(".link.")
            .suffix(".tmp")
            .make_in(self.blobs(), |link| self.point(&target, digest, link))
            .map_err(io)?;
        made.persist(&path).map_err(|error| io(error.error))?;
        Ok(())
    }

    #[cfg(unix)]
    fn point(&self, target: &str, _: &Digest, link: &Path) -> io::Result<()> {
        std::os::unix::fs::symlink(target, link)
    }

    /// Systems where links need a permission get a second name for the file, or a copy of it.
    #[cfg(not(unix))]
    fn point(&self, _: &str, digest: &Digest, link: &Path) -> io::Result<()> {
        let blob = self.blob(digest);
        fs::hard_link(&blob, link).or_else(|_| fs::copy(&blob, link).map(|_| ()))
    }

    /// Whether a snapshot has the file. Of one that is not known from a listing, the name of the
    /// link tells the hash, and any file that is no link counts.
    ///
    /// # Errors
    /// When the operating system refuses to read it.
    pub(crate) fn holds(
        &self,
        commit: &str,
        name: &str,
        known: Option<(&Digest, u64)>,
        verify: bool,
    ) -> Result<bool> {
        let path = self.snapshot(commit).join(name);
        let target = fs::read_link(&path).ok();
        let linked = target
            .as_deref()
            .and_then(|target| Digest::of_name(target.file_name()?.to_str()?));
        match (linked, known) {
            (Some(linked), Some((digest, bytes))) => {
                Ok(linked == *digest && self.has(digest, Some(bytes), verify)?)
            }
            (Some(linked), None) => self.has(&linked, None, verify),
            (None, Some((digest, bytes))) => {
                Ok(is_sound(&path, digest, Some(bytes), verify)? == Some(true))
            }
            (None, None) => Ok(path.is_file()),
        }
    }

    /// The names of the files in a snapshot, those of links that lead nowhere among them.
    ///
    /// # Errors
    /// When the operating system refuses.
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
                match entry.file_type().map_err(io)?.is_dir() {
                    true => folders.push(format!("{name}/")),
                    false => names.push(name),
                }
            }
        }
        names.sort();
        Ok(names)
    }
}

/// Whether a file is the one of that hash, as far as that is asked for; none when it is not there.
fn is_sound(
    path: &Path,
    digest: &Digest,
    bytes: Option<u64>,
    verify: bool,
) -> Result<Option<bool>> {
    let io = |error| Error::io(path, error);
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    let found = file.metadata().map_err(io)?.len();
    let sound = bytes.is_none_or(|bytes| bytes == found)
        && (!verify || digest::matches(&mut file, digest, found).map_err(io)?);
    Ok(Some(sound))
}

/// A new file with the mode of any file that the user makes.
fn temporary(folder: &Path, prefix: &str, suffix: &str) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(suffix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}
