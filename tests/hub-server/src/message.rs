//! Requests and replies, however they travel.

use bytes::Bytes;
use serde_json::Value as Json;

/// The server of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Hub,
    /// The store of large files.
    Store,
    /// The store of the parts of large files.
    Xet,
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) origin: Origin,
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The parts of the path, unescaped, and the query.
    pub(crate) fn parts(&self) -> (Vec<String>, Vec<(String, String)>) {
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let parts = path.split('/').filter(|part| !part.is_empty());
        let query = query.split('&').filter_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (!key.is_empty()).then(|| (unescape(key), unescape(value)))
        });
        (parts.map(unescape).collect(), query.collect())
    }

    pub(crate) fn json(&self) -> Result<Json, Reply> {
        serde_json::from_slice(&self.body).map_err(|_| Reply::error(400, "the body is no JSON"))
    }
}

fn unescape(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let escaped = (byte == b'%').then(|| {
            let digits = [bytes.next()?, bytes.next()?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()
        });
        out.push(escaped.flatten().unwrap_or(byte));
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A reply.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    pub(crate) delivery: Delivery,
}

/// How a reply is let out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// As it is.
    #[default]
    Whole,
    /// Not at all: the connection is closed.
    Dropped,
    /// Its headers, and so many bytes of the body; then the connection is closed.
    Cut(usize),
    /// In chunks without a length, so that a short body looks like a whole one.
    Chunked,
    /// So many bytes at a time, with a pause of so many milliseconds.
    Trickled(usize, u64),
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
            delivery: Delivery::Whole,
        }
    }

    pub(crate) fn json(json: &Json) -> Self {
        Self::new(200, json.to_string()).with("content-type", "application/json; charset=utf-8")
    }

    pub(crate) fn error(status: u16, message: &str) -> Self {
        let body = serde_json::json!({ "error": message }).to_string();
        Self::new(status, body)
            .with("content-type", "application/json")
            .with("x-error-message", message)
    }

    pub(crate) fn coded(status: u16, code: &str, message: &str) -> Self {
        Self::error(status, message).with("x-error-code", code)
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.set(name, value);
        self
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.headers.retain(|(key, _)| key != name);
        self.headers.push((name.to_owned(), value.into()));
    }
}

/// A request, as a test looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// Whether it was asked of the Hub itself, not of the store for large files.
    pub hub: bool,
    /// Whether it was asked of the Xet store.
    pub xet: bool,
    /// The verb.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Whether a token came with it.
    pub token: bool,
    /// Bytes of the body that came with it.
    pub sent: usize,
    /// Bytes of the body of the reply.
    pub received: usize,
    /// The header `Range`.
    pub range: Option<String>,
    /// The status of the reply.
    pub status: u16,
}
