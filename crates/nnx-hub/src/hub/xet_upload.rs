//! Uploads by way of Xet. Parts that the store has are not sent.

use std::fs::File;
use std::thread;

use xet::error::XetError;
use xet::xet_session::{Sha256Policy, XetSession, XetUploadCommit};

use super::Hub;
use super::local::LocalFile;
use super::xet::{Access, Reason, reason};
use crate::digest::{self, Hasher};
use crate::error::{Error, Result};
use crate::progress::{Direction, Event};
use crate::repo_id::RepoId;

/// Why a file was not sent.
enum Failure {
    /// The store does not take it.
    Store(Reason),
    /// It cannot be read, or has changed.
    Local(Error),
}

impl From<XetError> for Failure {
    fn from(error: XetError) -> Self {
        Self::Store(reason(&error))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Local(error)
    }
}

impl Hub {
    /// Sends files to the store. If it does not take them, a note says why and the result is `false`.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`](crate::ErrorKind::Changed) when a file changed since it was hashed, or
    /// an error of the disk.
    pub(super) fn send_to_xet(
        &self,
        repo: &RepoId,
        revision: Option<&str>,
        files: &[&LocalFile],
    ) -> Result<bool> {
        let session = self.xet.as_ref().and_then(|xet| xet.session());
        // A pull request does not need a branch that the token may write to.
        let (revision, query) = match revision {
            Some(revision) => (revision, ""),
            None => ("main", "?create_pr=1"),
        };
        let failed = match session {
            None => Failure::Store("it cannot be started"),
            Some(session) => match self.xet_access(repo, "write", revision, query) {
                Err(_) => Failure::Store("the Hub gives no token for it"),
                // The session refuses to block a thread of a runtime, which the caller's may be.
                Ok(access) => match outside(|| self.send_all(session, access, files)) {
                    Ok(()) => return Ok(true),
                    Err(failure) => failure,
                },
            },
        };
        match failed {
            Failure::Local(error) => Err(error),
            Failure::Store(reason) => {
                self.client.note(&format!(
                    "Xet does not take the files: {reason}; uploading them the ordinary way"
                ));
                Ok(false)
            }
        }
    }

    fn send_all(
        &self,
        session: &XetSession,
        access: Access,
        files: &[&LocalFile],
    ) -> Result<(), Failure> {
        let (refresh, headers) = access.refresh;
        let commit = session
            .new_upload_commit()?
            .with_endpoint(access.endpoint)
            .with_token_info(access.token, access.expires)
            .with_token_refresh_url(refresh, headers)
            .build_blocking()?;
        for file in files {
            if let Err(failure) = self.send_file(&commit, file) {
                let _ = commit.abort();
                return Err(failure);
            }
        }
        commit.commit_blocking()?;
        for file in files {
            self.sent(file);
        }
        Ok(())
    }

    /// Sends a file; what is sent is hashed, and must be what was hashed before.
    fn send_file(&self, commit: &XetUploadCommit, file: &LocalFile) -> Result<(), Failure> {
        let expected = file.sha256()?;
        let policy = Sha256Policy::from_hex(expected.hex());
        let stream = commit.upload_stream_blocking(Some(file.name.clone()), policy)?;
        let io = |error| Error::io(&file.path, error);
        let mut source = File::open(&file.path).map_err(io)?;
        let (mut hasher, mut done, mut refused) = (Hasher::sha256(), 0_u64, None);
        let read = digest::for_each_chunk(&mut source, |chunk| {
            hasher.update(chunk);
            done = done.saturating_add(chunk.len() as u64);
            if let Err(error) = stream.write_blocking(chunk.to_vec()) {
                refused = Some(reason(&error));
                return Err(std::io::ErrorKind::Other.into());
            }
            self.client.notify(&Event::Advanced {
                direction: Direction::Up,
                file: &file.name,
                done: done.min(file.size),
                total: file.size,
            });
            Ok(())
        });
        if let Some(reason) = refused {
            return Err(Failure::Store(reason));
        }
        read.map_err(io)?;
        if hasher.finish() != *expected {
            return Err(Failure::Local(file.changed()));
        }
        stream.finish_blocking()?;
        Ok(())
    }
}

/// Calls a function in a thread of its own, which belongs to no runtime.
fn outside<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| match scope.spawn(work).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
