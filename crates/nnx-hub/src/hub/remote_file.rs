//! A file that is read in parts, where it is.

use std::io::Read;
use std::ops::Range;

use super::Hub;
use super::download::continues;
use super::snapshot::entry_not_found;
use super::tree::TreeEntry;
use crate::error::Result;
use crate::exchange::{Call, Failure};
use crate::repo_id::RepoId;
use crate::safe_path;
use crate::transport::TransportError;

/// Bytes of a safetensors header that are asked for at once, before its length is known.
const FIRST_BYTES: u64 = 64 << 10;
/// The longest header that is read, as in the format's own library.
const MAX_HEADER_BYTES: u64 = 100_000_000;
/// Bytes before the header, which say how long it is.
const LENGTH_BYTES: u64 = 8;

/// A file of a repository, at one commit, of which parts are read without a download of the whole.
///
/// Parts cannot be hashed; what is read is as good as the connection.
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
    /// [`ErrorKind::EntryNotFound`](crate::ErrorKind::EntryNotFound), what another refusal stands for, or what goes wrong on the way.
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
    /// The file, with its size and hash.
    pub fn entry(&self) -> &TreeEntry {
        &self.entry
    }

    /// The commit that is read.
    pub fn commit(&self) -> &str {
        &self.commit
    }

    /// Some of the file's bytes; what lies beyond its end is left out.
    ///
    /// # Errors
    /// What goes wrong on the way.
    pub fn read_range(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let end = range.end.min(self.entry.size);
        if range.start >= end {
            return Ok(Vec::new());
        }
        let wanted = end - range.start;
        let call = self
            .hub
            .resolve(&self.repo, &self.commit, &self.entry.path)
            .header("range", format!("bytes={}-{}", range.start, end - 1));
        self.hub.client.send(&call, |response| {
            self.part(&call, response, range.start, wanted)
        })
    }

    fn part(
        &self,
        call: &Call<'_>,
        mut response: crate::transport::Response,
        start: u64,
        wanted: u64,
    ) -> Result<Vec<u8>, Failure> {
        // A server that knows no ranges sends the whole, of which the part is kept.
        let skipped = if response.status == 200 { start } else { 0 };
        if response.status != 200 && !continues(&response, start) {
            return Err(call
                .protocol("the server sends another part than it was asked for")
                .into());
        }
        let mut bytes = Vec::new();
        let read = std::io::copy(
            &mut response.body.by_ref().take(skipped),
            &mut std::io::sink(),
        )
        .and_then(|_| response.body.by_ref().take(wanted).read_to_end(&mut bytes));
        read.map_err(|error| call.transport_error(TransportError::of_read(&error)))?;
        if (bytes.len() as u64) < wanted {
            let missing = wanted.saturating_sub(bytes.len() as u64);
            let cut = TransportError::Broken(format!("{missing} bytes of the file are missing"));
            return Err(call.transport_error(cut));
        }
        Ok(bytes)
    }

    /// The beginning of a safetensors file: the eight bytes of its header's length and the header.
    ///
    /// # Errors
    /// [`ErrorKind::Protocol`](crate::ErrorKind::Protocol) when the file cannot be a safetensors file, or what goes wrong on the
    /// way.
    pub fn safetensors_header(&self) -> Result<Vec<u8>> {
        let mut bytes = self.read_range(0..FIRST_BYTES)?;
        let length = bytes
            .first_chunk()
            .map(|length| u64::from_le_bytes(*length));
        let end = length
            .filter(|length| *length <= MAX_HEADER_BYTES)
            .map(|length| length.saturating_add(LENGTH_BYTES))
            .filter(|end| *end <= self.entry.size)
            .ok_or_else(|| {
                let call = self.hub.resolve(&self.repo, &self.commit, &self.entry.path);
                call.protocol("the file does not begin as a safetensors file does")
            })?;
        let have = bytes.len() as u64;
        if have < end {
            bytes.extend(self.read_range(have..end)?);
        }
        bytes.truncate(usize::try_from(end).unwrap_or(usize::MAX));
        Ok(bytes)
    }
}
