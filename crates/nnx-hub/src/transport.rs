//! One HTTP exchange: the client's interface to the network.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read};

/// Sends a request to a server and returns the reply.
///
/// A transport does one exchange and decides nothing: it follows no redirects, repeats nothing,
/// adds no header that identifies the user, and does not decompress bodies. The client decides what
/// is sent where, what is repeated and what a reply means, in the same way over every transport.
/// `HttpTransport` (feature `online`) is a transport over HTTP; a server in memory is another one,
/// for tests.
pub trait Transport: Send + Sync {
    /// Does one exchange.
    ///
    /// # Errors
    /// When the reply or a part of its headers is missing.
    fn send(&self, request: Request<'_>) -> Result<Response, TransportError>;
}

/// The HTTP methods that the Hub uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Requests data.
    Get,
    /// Requests only the headers.
    Head,
    /// Sends data to be processed.
    Post,
    /// Sends data to be stored.
    Put,
    /// Requests a deletion.
    Delete,
}

impl Method {
    /// The name of the method in a request.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

/// The name of a header, in lower case, and its value.
pub type Header = (Cow<'static, str>, String);

/// A request.
#[non_exhaustive]
pub struct Request<'a> {
    /// The verb.
    pub method: Method,
    /// The whole URL.
    pub url: String,
    /// The headers; the transport adds the host and the length of the body.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Body<'a>,
}

impl<'a> Request<'a> {
    /// Makes a request of its parts.
    pub fn new(method: Method, url: String, headers: Vec<Header>, body: Body<'a>) -> Self {
        Self {
            method,
            url,
            headers,
            body,
        }
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for Request<'_> {
    // Neither headers nor query: both hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &crate::url::shown(&self.url))
            .finish_non_exhaustive()
    }
}

/// The body of a request.
pub enum Body<'a> {
    /// None.
    Empty,
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// Bytes that are read while they are sent, and their number.
    Reader(&'a mut (dyn Read + Send), u64),
}

impl fmt::Debug for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("Empty"),
            Self::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Self::Reader(_, len) => write!(f, "Reader({len})"),
        }
    }
}

/// A reply.
pub struct Response {
    /// The status.
    pub status: u16,
    headers: Vec<(String, String)>,
    /// The body; a read fails when the connection breaks.
    pub body: Box<dyn Read + Send>,
}

impl Response {
    /// Makes a reply of its parts.
    pub fn new(
        status: u16,
        headers: impl IntoIterator<Item = (String, String)>,
        body: impl Read + Send + 'static,
    ) -> Self {
        let headers = headers.into_iter();
        Self {
            status,
            headers: headers
                .map(|(name, value)| (name.to_ascii_lowercase(), value))
                .collect(),
            body: Box::new(body),
        }
    }

    /// The value of the header with the given lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The beginning of the body, as text.
    pub(crate) fn text(&mut self, max_bytes: u64) -> String {
        let mut bytes = Vec::new();
        // The bytes that could be read are enough for a message.
        let _ = self.body.by_ref().take(max_bytes).read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// The reason why there is no reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The server was silent for too long.
    #[error("no answer within the time allowed")]
    Timeout,
    /// The connection failed or broke.
    #[error("{0}")]
    Broken(String),
    /// The request cannot be sent at all; a retry would fail as well.
    #[error("{0}")]
    Impossible(String),
}

impl TransportError {
    /// The error for a failed read of a body.
    pub(crate) fn from_read_error(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Self::Timeout,
            _ => Self::Broken("the connection broke before all was sent".to_owned()),
        }
    }
}
