//! A request to the Hub that can be made more than once.

use std::path::Path;
use std::sync::Mutex;

use crate::digest::Hasher;
use crate::error::{Error, ErrorKind};
use crate::repo_id::RepoId;
use crate::retry::Failure;
use crate::transport::{Header, Method, TransportError};
use crate::url;

/// A request that may be made more than once.
#[derive(Clone, Debug)]
pub(crate) struct ApiRequest<'a> {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: Vec<Header>,
    pub(crate) payload: Payload<'a>,
    pub(crate) context: RequestContext<'a>,
}

/// The repository, revision and file of a request, for its error messages.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestContext<'a> {
    pub(crate) repo: Option<&'a RepoId>,
    pub(crate) revision: Option<&'a str>,
    pub(crate) file: Option<&'a str>,
}

/// A body that can be sent again.
#[derive(Clone, Copy)]
pub(crate) enum Payload<'a> {
    Empty,
    Bytes(&'a [u8]),
    /// A part of a file; the function receives the number of bytes that were sent.
    Part {
        path: &'a Path,
        offset: u64,
        len: u64,
        sent: &'a (dyn Fn(u64) + Sync),
        /// Receives the number of bytes that were sent. Bytes that are sent again are counted once.
        hasher: Option<&'a Mutex<Hasher>>,
    },
}

impl std::fmt::Debug for Payload<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Payload")
    }
}

impl<'a> ApiRequest<'a> {
    pub(crate) fn new(method: Method, url: String, context: RequestContext<'a>) -> Self {
        Self {
            method,
            url,
            headers: Vec::new(),
            payload: Payload::Empty,
            context,
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn payload(mut self, payload: Payload<'a>) -> Self {
        self.payload = payload;
        self
    }

    pub(crate) fn json(self, bytes: &'a [u8]) -> Self {
        self.header("content-type", "application/json")
            .payload(Payload::Bytes(bytes))
    }

    /// Method and path, for error messages.
    pub(crate) fn shown(&self) -> String {
        format!("{} {}", self.method.name(), url::shown(&self.url))
    }

    pub(crate) fn protocol(&self, what: impl Into<String>) -> Error {
        Error::from(ErrorKind::Protocol {
            request: self.shown(),
            what: what.into(),
        })
    }

    pub(crate) fn transport_error(&self, error: TransportError) -> Failure {
        let request = self.shown();
        match error {
            TransportError::Timeout => {
                Failure::Transient(ErrorKind::Timeout { request }.into(), None)
            }
            TransportError::Broken(what) => {
                Failure::Transient(ErrorKind::Network { request, what }.into(), None)
            }
            TransportError::Impossible(what) => {
                Failure::Permanent(ErrorKind::Network { request, what }.into())
            }
        }
    }
}
