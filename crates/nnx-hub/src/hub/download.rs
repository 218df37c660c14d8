//! Downloads one file until its hash matches.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::Hub;
use crate::api_request::{ApiRequest, RequestContext};
use crate::digest::{self, Hasher};
use crate::error::{Error, ErrorKind, Result};
use crate::progress::{Direction, Event};
use crate::repo_id::RepoId;
use crate::retry::Failure;
use crate::transport::{Method, Response, TransportError};
use crate::tree_entry::TreeEntry;
use crate::url::escape;

/// How often a download starts at the first byte.
const MAX_STARTS: u32 = 2;
/// How often a reply may end properly but too early; the rest is then requested.
const MAX_SHORT_ENDS: u32 = 1;
/// The number of bytes that are read from the network at a time.
const CHUNK_BYTES: usize = 128 << 10;

/// A file that is being downloaded.
pub(super) struct PartialDownload<'a> {
    pub(super) entry: &'a TreeEntry,
    /// The path of the file.
    path: &'a Path,
    file: &'a mut File,
    hasher: Hasher,
    pub(super) position: u64,
    /// How often a reply ended properly but too early.
    short_ends: u32,
}

/// The result when all bytes have arrived.
#[derive(Debug, PartialEq)]
pub(super) enum Verification {
    /// The bytes are those of the file.
    Intact,
    /// The bytes are other ones; the text describes them.
    Differs(String),
}

impl<'a> PartialDownload<'a> {
    fn new(entry: &'a TreeEntry, path: &'a Path, file: &'a mut File) -> Self {
        Self {
            hasher: Hasher::new(&entry.digest, entry.size),
            entry,
            path,
            file,
            position: 0,
            short_ends: 0,
        }
    }

    /// Uses the partial file of an earlier download as the beginning.
    fn take_up(&mut self, leftover: File) -> std::io::Result<()> {
        digest::for_each_chunk(&mut leftover.take(self.entry.size), |chunk| {
            self.hasher.update(chunk);
            self.position = self.position.saturating_add(chunk.len() as u64);
            self.file.write_all(chunk)
        })
    }

    pub(super) fn verify(&self) -> Verification {
        let digest = self.hasher.clone().finish();
        if digest == self.entry.digest {
            Verification::Intact
        } else {
            Verification::Differs(format!("{} bytes with {digest}", self.position))
        }
    }

    /// Discards the bytes that have arrived.
    fn restart(&mut self) -> std::io::Result<()> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.hasher = Hasher::new(&self.entry.digest, self.entry.size);
        self.position = 0;
        Ok(())
    }
}

impl Hub {
    /// A request for a file of a repository at a commit.
    pub(super) fn resolve<'a>(
        &self,
        repo: &'a RepoId,
        commit: &'a str,
        file: &'a str,
    ) -> ApiRequest<'a> {
        let path = format!("/{repo}/resolve/{commit}/{}", escape(file, true));
        let context = RequestContext {
            repo: Some(repo),
            revision: Some(commit),
            file: Some(file),
        };
        ApiRequest::new(Method::Get, self.client.url(&path), context)
    }

    /// Downloads a file into another one, which first gets the bytes of an earlier partial
    /// download. The size and hash are compared with those of the repository. An interrupted
    /// download is resumed; a wrong one starts again, once.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] when the file was wrong twice; the error of a refused request; or an
    /// error of the network or the disk.
    pub(super) fn download_into(
        &self,
        repo: &RepoId,
        commit: &str,
        entry: &TreeEntry,
        leftover: Option<File>,
        file: &mut NamedTempFile,
    ) -> Result<()> {
        let path = file.path().to_path_buf();
        let io = |error| Error::io(&path, error);
        let mut partial = PartialDownload::new(entry, &path, file.as_file_mut());
        if let Some(leftover) = leftover {
            partial.take_up(leftover).map_err(io)?;
        }
        let mut whole = self.fill_from_xet(repo, commit, &mut partial)?;
        if !whole && partial.position > 0 {
            // These bytes may belong to something else, so this does not count as a start.
            whole = self.fill(repo, commit, &mut partial)? == Verification::Intact;
        }
        let mut found = String::new();
        for start in 1..=MAX_STARTS {
            if whole {
                break;
            }
            if start > 1 {
                let file = &entry.path;
                self.client.note(&format!(
                    "the download of `{file}` was damaged; downloading it again"
                ));
            }
            partial.restart().map_err(io)?;
            match self.fill(repo, commit, &mut partial)? {
                Verification::Intact => whole = true,
                Verification::Differs(what) => found = what,
            }
        }
        if whole {
            partial.file.flush().map_err(io)?;
            self.client.notify(&Event::Finished {
                direction: Direction::Down,
                file: &entry.path,
            });
            return Ok(());
        }
        Err(Error::from(ErrorKind::Corrupt {
            file: entry.path.clone(),
            expected: format!("{} bytes with {}", entry.size, entry.digest),
            found,
        }))
    }

    /// Receives bytes until all have arrived, and compares them with the size and hash of the
    /// repository.
    fn fill(
        &self,
        repo: &RepoId,
        commit: &str,
        partial: &mut PartialDownload<'_>,
    ) -> Result<Verification> {
        let mut failures = 0;
        partial.short_ends = 0;
        loop {
            let before = partial.position;
            if before == partial.entry.size {
                return Ok(partial.verify());
            }
            let failure = match self.take(repo, commit, partial) {
                Ok(false) => return Ok(partial.verify()),
                Ok(true) => {
                    let size = partial.entry.size;
                    return Ok(Verification::Differs(format!("more than {size} bytes")));
                }
                Err(failure) => failure,
            };
            // A server that keeps sending, however slowly, is not given up.
            failures = if partial.position > before {
                1
            } else {
                failures + 1
            };
            self.client.backoff(failure, failures)?;
        }
    }

    /// One request for the missing bytes; returns whether there were more than expected.
    fn take(
        &self,
        repo: &RepoId,
        commit: &str,
        partial: &mut PartialDownload<'_>,
    ) -> Result<bool, Failure> {
        let entry = partial.entry;
        let mut request = self.resolve(repo, commit, &entry.path);
        if partial.position > 0 {
            request = request.header("range", format!("bytes={}-", partial.position));
        }
        let mut response = self.client.try_send(&request)?;
        let path = partial.path;
        let io = |error| Failure::Permanent(Error::io(path, error));
        if !continues(&response, partial.position) {
            partial.restart().map_err(io)?;
            if response.status != 200 {
                let error = request.protocol("the server sent another part than the requested one");
                return Err(Failure::Transient(error, None));
            }
        }
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            let read = match response.body.read(&mut buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(request.transport_error(TransportError::from_read_error(&error)));
                }
            };
            let bytes = buffer.get(..read).unwrap_or_default();
            let left = entry.size.saturating_sub(partial.position);
            if read == 0 && left == 0 {
                return Ok(false);
            }
            if read == 0 {
                // A server that ends in this way again means that this is the whole file.
                partial.short_ends += 1;
                if partial.short_ends > MAX_SHORT_ENDS {
                    return Ok(false);
                }
                let cut = TransportError::Broken(format!("{left} bytes of the file are missing"));
                return Err(request.transport_error(cut));
            }
            if !self.append(partial, bytes)? {
                return Ok(true);
            }
        }
    }

    /// Adds bytes that have arrived to a file; returns `false`, and adds nothing, if the file has
    /// fewer.
    ///
    /// # Errors
    /// An error of the disk.
    pub(super) fn append(&self, partial: &mut PartialDownload<'_>, bytes: &[u8]) -> Result<bool> {
        let entry = partial.entry;
        let position = partial.position.saturating_add(bytes.len() as u64);
        if position > entry.size {
            return Ok(false);
        }
        let written = partial.file.write_all(bytes);
        written.map_err(|error| Error::io(partial.path, error))?;
        partial.hasher.update(bytes);
        partial.position = position;
        self.client.notify(&Event::Advanced {
            direction: Direction::Down,
            file: &entry.path,
            done: position,
            total: entry.size,
        });
        Ok(true)
    }
}

/// Whether a reply begins at that byte of the file.
pub(super) fn continues(response: &Response, position: u64) -> bool {
    match response.status {
        206 => {
            let range = response.header("content-range");
            let start = range.and_then(|range| {
                let (start, _) = range.trim().strip_prefix("bytes ")?.split_once('-')?;
                start.trim().parse::<u64>().ok()
            });
            start == Some(position)
        }
        _ => position == 0,
    }
}
