//! Reads parts of a file on the Hub without a download of the whole.

use std::io::Read;
use std::ops::Range;

use super::Hub;
use super::download::continues;
use super::snapshot::entry_not_found;
use crate::api_request::ApiRequest;
use crate::error::Result;
use crate::repo_id::RepoId;
use crate::retry::Failure;
use crate::safe_path;
use crate::transport::TransportError;
use crate::tree_entry::TreeEntry;

/// A file of a repository at one commit, whose parts can be read without a download of the whole.
///
/// Parts have no hash, so damage on the way is not detected.
#[derive(Clone, Debug)]
pub struct RemoteFile {
    hub: Hub,
    repo: RepoId,
    commit: String,
    entry: TreeEntry,
}

impl Hub {
    /// Opens a file of a repository at a revision.
    ///
    /// # Errors
    /// [`ErrorKind::EntryNotFound`](crate::ErrorKind::EntryNotFound), another refusal of the Hub,
    /// or an error of the network.
    pub fn open(&self, repo: &RepoId, revision: &str, file: &str) -> Result<RemoteFile> {
        safe_path::check(file)?;
        let commit = self.repo_info(repo, revision)?.commit;
        let entries = self.tree(repo, &commit)?;
        let entry = entries.into_iter().find(|entry| entry.path == file);
        let entry = entry.ok_or_else(|| entry_not_found(repo, revision, file))?;
        Ok(RemoteFile {
            hub: self.clone(),
            repo: repo.clone(),
            commit,
            entry,
        })
    }
}

impl RemoteFile {
    pub(super) fn new(hub: &Hub, repo: &RepoId, commit: &str, entry: &TreeEntry) -> Self {
        Self {
            hub: hub.clone(),
            repo: repo.clone(),
            commit: commit.to_owned(),
            entry: entry.clone(),
        }
    }

    /// The file, with its size and hash.
    pub fn entry(&self) -> &TreeEntry {
        &self.entry
    }

    /// The commit that is read.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// Reads a range of the file; the part of the range after the end of the file is ignored.
    ///
    /// # Errors
    /// An error of the network, or a refusal of the Hub.
    pub fn read_range(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let end = range.end.min(self.entry.size);
        if range.start >= end {
            return Ok(Vec::new());
        }
        let wanted = end - range.start;
        let request = self
            .hub
            .resolve(&self.repo, &self.commit, &self.entry.path)
            .header("range", format!("bytes={}-{}", range.start, end - 1));
        self.hub.client.send(&request, |response| {
            self.part(&request, response, range.start, wanted)
        })
    }

    fn part(
        &self,
        request: &ApiRequest<'_>,
        mut response: crate::transport::Response,
        start: u64,
        wanted: u64,
    ) -> Result<Vec<u8>, Failure> {
        // A server that does not support ranges sends the whole file, of which only the part is
        // kept.
        let skipped = if response.status == 200 { start } else { 0 };
        if response.status != 200 && !continues(&response, start) {
            return Err(request
                .protocol("the server sent another part than the requested one")
                .into());
        }
        let mut bytes = Vec::new();
        let read = std::io::copy(
            &mut response.body.by_ref().take(skipped),
            &mut std::io::sink(),
        )
        .and_then(|_| response.body.by_ref().take(wanted).read_to_end(&mut bytes));
        read.map_err(|error| request.transport_error(TransportError::from_read_error(&error)))?;
        if (bytes.len() as u64) < wanted {
            let missing = wanted.saturating_sub(bytes.len() as u64);
            let cut = TransportError::Broken(format!("{missing} bytes of the file are missing"));
            return Err(request.transport_error(cut));
        }
        Ok(bytes)
    }
}
