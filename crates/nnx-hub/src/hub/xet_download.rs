//! Downloads by way of Xet.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;

use xet::error::XetError;
use xet::xet_session::{XetDownloadStreamGroup, XetFileInfo, XetSession};

use super::Hub;
use super::download::{PartialDownload, Verification};
use super::xet::{Access, Reason, Xet, reason};
use crate::error::Result;
use crate::repo_id::RepoId;

impl Hub {
    /// Receives the missing bytes of a file from the store, and compares all of them with the size
    /// and hash of the repository. Returns whether the file is complete; if not, a note says why, and
    /// the bytes that have arrived are kept.
    ///
    /// # Errors
    /// An error of the disk.
    pub(super) fn fill_from_xet(
        &self,
        repo: &RepoId,
        commit: &str,
        partial: &mut PartialDownload<'_>,
    ) -> Result<bool> {
        let (Some(xet), Some(hash)) = (&self.xet, &partial.entry.xet_hash) else {
            return Ok(false);
        };
        if partial.position == partial.entry.size {
            return Ok(partial.verify() == Verification::Intact);
        }
        let file = XetFileInfo::new(hash.clone(), partial.entry.size);
        let failed = match xet.session() {
            None => Some("it cannot be started"),
            Some(session) => match self.xet_access(repo, "read", commit, "") {
                Ok(access) => self.receive(xet, session, access, file, partial)?,
                Err(_) => Some("the Hub gives no token for it"),
            },
        };
        let failed = failed.or_else(|| match partial.verify() {
            Verification::Intact => None,
            Verification::Differs(_) => Some("the bytes are not those of the file"),
        });
        if let Some(reason) = failed {
            let name = &partial.entry.path;
            self.client.note(&format!(
                "Xet does not deliver `{name}`: {reason}; downloading it the ordinary way"
            ));
        }
        Ok(failed.is_none())
    }

    /// Receives bytes until all have arrived, or returns why they do not.
    fn receive(
        &self,
        xet: &Xet,
        session: &XetSession,
        access: Access,
        file: XetFileInfo,
        partial: &mut PartialDownload<'_>,
    ) -> Result<Option<Reason>> {
        let size = partial.entry.size;
        let range = (partial.position > 0).then_some(partial.position..size);
        let session = session.clone();
        // One piece waits while the one before it is written.
        let (sender, pieces) = sync_channel(1);
        // This thread is not joined: a store that is silent would keep it.
        thread::spawn(move || {
            let stream = || -> Result<_, XetError> {
                let group = group(&session, access)?;
                group.download_stream_blocking(file, range)
            };
            let mut stream = match stream() {
                Ok(stream) => stream,
                Err(error) => return drop(sender.send(Err(reason(&error)))),
            };
            loop {
                let piece = match stream.blocking_next() {
                    Ok(Some(bytes)) => Ok(bytes),
                    Ok(None) => return,
                    Err(error) => Err(reason(&error)),
                };
                if sender.send(piece).is_err() {
                    return stream.cancel();
                }
            }
        });
        loop {
            match pieces.recv_timeout(xet.timeout) {
                Ok(Ok(bytes)) => {
                    if !self.append(partial, &bytes)? {
                        return Ok(Some("it sends more bytes than the file has"));
                    }
                }
                Ok(Err(reason)) => return Ok(Some(reason)),
                Err(RecvTimeoutError::Timeout) => return Ok(Some("the store is silent")),
                Err(RecvTimeoutError::Disconnected) if partial.position < size => {
                    return Ok(Some("it sends fewer bytes than the file has"));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }
}

fn group(session: &XetSession, access: Access) -> Result<XetDownloadStreamGroup, XetError> {
    let (refresh, headers) = access.refresh;
    session
        .new_download_stream_group()?
        .with_endpoint(access.endpoint)
        .with_token_info(access.token, access.expires)
        .with_token_refresh_url(refresh, headers)
        .build_blocking()
}
