//! One exchange with a server: what the client needs of a network.

#[cfg(feature = "online")]
mod http;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read};

#[cfg(feature = "online")]
pub use self::http::HttpTransport;

/// Carries a request to a server and its reply back.
///
/// It does one exchange and decides nothing: redirects are not followed, nothing is tried again, no
/// header is added that says who asks, and bodies are passed on as they come, not inflated.
/// What may be sent where, what is tried again and what a reply means is the client's business,
/// which is the same over every transport. `HttpTransport` (feature `online`) is one over HTTP; a
/// server in memory is another, for tests.
pub trait Transport: Send + Sync {
    /// One exchange.
    ///
    /// # Errors
    /// When there is no reply, or not all of its headers.
    fn send(&self, request: Request<'_>) -> Result<Response, TransportError>;
}

/// The verbs of HTTP that the Hub uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Asks for something.
    Get,
    /// Asks for the headers alone.
    Head,
    /// Sends something to be worked on.
    Post,
    /// Sends something to be kept.
    Put,
    /// Asks to remove something.
    Delete,
}

impl Method {
    /// As it stands on the wire.
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

/// A header's name, in lower case, and its value.
pub type Header = (Cow<'static, str>, String);

/// What is sent.
#[non_exhaustive]
pub struct Request<'a> {
    /// The verb.
    pub method: Method,
    /// The whole URL.
    pub url: String,
    /// The headers; which host is asked, and how long the body is, the transport adds.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Body<'a>,
}

impl<'a> Request<'a> {
    /// A request with all its parts.
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
    /// Bytes that are read while they are sent, and how many.
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

/// What came back.
pub struct Response {
    /// The status.
    pub status: u16,
    headers: Vec<(String, String)>,
    /// The body; reading fails where the connection breaks.
    pub body: Box<dyn Read + Send>,
}

impl Response {
    /// A reply with all its parts.
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

    /// The value of a header, whose name is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The beginning of the body, as text.
    pub(crate) fn text(&mut self, max_bytes: u64) -> String {
        let mut bytes = Vec::new();
        // What could be read is enough for a message.
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

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The server was silent for too long.
    #[error("no answer within the time allowed")]
    Timeout,
    /// The connection could not be made, or broke.
    #[error("{0}")]
    Broken(String),
    /// The request cannot be carried at all; trying again is of no use.
    #[error("{0}")]
    Impossible(String),
}

impl TransportError {
    /// What an error of reading a body stands for.
    pub(crate) fn of_read(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Self::Timeout,
            _ => Self::Broken("the connection broke before all was sent".to_owned()),
        }
    }
}
