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

/// The files of a repository at one commit, or those in a folder of it, which are read by range: a checkpoint of one or of many
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
    /// The folder in the repository, with a slash at its end; empty for the repository itself.
    prefix: String,
    /// The files below it, by their whole paths.
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
            prefix: String::new(),
            entries,
        })
    }
}

impl RepoFolder {
    /// The commit that is read.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// The folder of that name in this one; `None` if no file is in it.
    pub fn below(&self, name: &str) -> Option<Self> {
        let prefix = format!("{}{}/", self.prefix, name.trim_end_matches('/'));
        let entries = self.entries.iter();
        let entries: Vec<TreeEntry> = entries
            .filter(|entry| entry.path.starts_with(&prefix))
            .cloned()
            .collect();
        (!entries.is_empty()).then(|| Self {
            hub: self.hub.clone(),
            repo: self.repo.clone(),
            commit: self.commit.clone(),
            prefix,
            entries,
        })
    }

    fn entry(&self, name: &str) -> Option<&TreeEntry> {
        let mut entries = self.entries.iter();
        entries.find(|entry| entry.path.strip_prefix(&self.prefix) == Some(name))
    }
}

impl Folder for RepoFolder {
    fn entries(&self) -> nnx_checkpoint::Result<FolderEntries> {
        let mut entries = FolderEntries::default();
        for entry in &self.entries {
            let path = entry.path.strip_prefix(&self.prefix).unwrap_or(&entry.path);
            match path.split_once('/') {
                None => entries.files.push(path.to_owned()),
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
        let path = format!("hf://{}/{}{name}", self.repo.as_str(), self.prefix);
        PathBuf::from(path.trim_end_matches('/'))
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
            .field("prefix", &self.prefix)
            .field("files", &self.entries.len())
            .finish_non_exhaustive()
    }
}
