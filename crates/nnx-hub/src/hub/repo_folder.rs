//! The files of a repository at one commit, as a folder.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use nnx_checkpoint::{ByteRange, CachedRange, Folder, FolderEntries, RangeRead};

use super::Hub;
use super::remote_file::RemoteFile;
use crate::error::Result;
use crate::repo_id::RepoId;
use crate::tree_entry::TreeEntry;

/// The files of a repository at one commit, which are read by range: a checkpoint of one or of many
/// files opens without a download.
///
/// Parts of a file have no hash, so damage on the way is noticed only where the file has checksums of
/// its own.
///
/// ```no_run
/// use nnx_checkpoint::{CheckpointReader, OpenOptions};
/// use nnx_hub::{Hub, RepoId};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = Hub::from_env()?.folder(&RepoId::parse("owner/name")?, "main")?;
/// let checkpoint = CheckpointReader::open_in(&folder, None, &OpenOptions::default())?;
/// println!("{} tensors", checkpoint.tensors().len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RepoFolder {
    hub: Hub,
    repo: RepoId,
    commit: String,
    entries: Vec<TreeEntry>,
}

impl Hub {
    /// The files of a repository at a revision. They are listed, and not read.
    ///
    /// # Errors
    /// A refusal of the Hub, or an error of the network.
    pub fn folder(&self, repo: &RepoId, revision: &str) -> Result<RepoFolder> {
        let commit = self.repo_info(repo, revision)?.commit;
        let entries = self.tree(repo, &commit)?;
        Ok(RepoFolder {
            hub: self.clone(),
            repo: repo.clone(),
            commit,
            entries,
        })
    }
}

impl RepoFolder {
    /// The commit that is read.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    fn entry(&self, name: &str) -> Option<&TreeEntry> {
        self.entries.iter().find(|entry| entry.path == name)
    }
}

impl Folder for RepoFolder {
    fn entries(&self) -> nnx_checkpoint::Result<FolderEntries> {
        let mut entries = FolderEntries::default();
        for entry in &self.entries {
            match entry.path.split_once('/') {
                None => entries.files.push(entry.path.clone()),
                Some((folder, _)) if entries.folders.last().is_some_and(|last| last == folder) => {}
                Some((folder, _)) => entries.folders.push(folder.to_owned()),
            }
        }
        entries.folders.sort();
        entries.folders.dedup();
        Ok(entries)
    }

    fn open(&self, name: &str) -> nnx_checkpoint::Result<ByteRange> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let entry = self.entry(name).ok_or_else(missing)?;
        let file = RemoteFile::new(&self.hub, &self.repo, &self.commit, entry);
        Ok(ByteRange::new(Arc::new(CachedRange::new(Arc::new(file)))))
    }

    fn has_file(&self, name: &str) -> nnx_checkpoint::Result<bool> {
        Ok(self.entry(name).is_some())
    }

    fn path(&self, name: &str) -> PathBuf {
        let repo = format!("hf://{}", self.repo.as_str());
        match name {
            "" => PathBuf::from(repo),
            name => PathBuf::from(format!("{repo}/{name}")),
        }
    }
}

impl RangeRead for RemoteFile {
    fn byte_len(&self) -> u64 {
        self.entry().size
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> nnx_checkpoint::Result<()> {
        let end = offset.saturating_add(into.len() as u64);
        let bytes = self
            .read_range(offset..end)
            .map_err(|error| io::Error::other(error.to_string()))?;
        if bytes.len() != into.len() {
            let what = format!(
                "expected {} bytes of the file, found {}",
                into.len(),
                bytes.len()
            );
            return Err(io::Error::other(what).into());
        }
        into.copy_from_slice(&bytes);
        Ok(())
    }
}

impl fmt::Debug for RepoFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RepoFolder")
            .field("repo", &self.repo)
            .field("commit", &self.commit)
            .field("files", &self.entries.len())
            .finish_non_exhaustive()
    }
}
