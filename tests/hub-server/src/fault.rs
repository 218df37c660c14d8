//! Faults on demand.

use crate::message::{Asked, Delivery, Origin, Reply};

/// A fault: the requests that it meets, and its action.
#[derive(Clone, Debug)]
pub struct Fault {
    method: Option<String>,
    path: String,
    on_store: Option<bool>,
    skip: usize,
    times: usize,
    pub(crate) action: Action,
}

/// The action of a fault.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Action {
    /// Replies with a status, headers and a body, and does nothing else.
    Status(u16, Vec<(String, String)>, String),
    /// Closes the connection without a reply and without doing anything.
    Drop,
    /// Sends so many bytes of the body and closes the connection.
    Cut(usize),
    /// Sends so many bytes of the body as if they were all.
    Truncate(usize),
    /// The same in chunks, without a length.
    ChunkCut(usize),
    /// Flips a byte in the middle of the body.
    Corrupt,
    /// Sets a header.
    Header(String, String),
    /// Takes so many milliseconds before it replies.
    Slow(u64),
    /// Sends so many bytes at a time, so many milliseconds apart.
    Trickle(usize, u64),
    /// Does what was asked and closes the connection without a reply.
    Late,
    /// Replies with another body.
    Body(String),
}

impl Fault {
    /// A fault that meets the next request whose path and query hold the text.
    pub fn new(path: impl Into<String>, action: Action) -> Self {
        Self {
            method: None,
            path: path.into(),
            on_store: None,
            skip: 0,
            times: 1,
            action,
        }
    }

    /// Meets requests of that verb alone.
    #[must_use]
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.method = Some(method.into());
        self
    }

    /// Meets requests to the store for large files alone, or to the Hub alone.
    #[must_use]
    pub fn on_store(mut self, on_store: bool) -> Self {
        self.on_store = Some(on_store);
        self
    }

    /// Lets so many requests pass first.
    #[must_use]
    pub fn skip(mut self, count: usize) -> Self {
        self.skip = count;
        self
    }

    /// Meets so many requests.
    #[must_use]
    pub fn times(mut self, count: usize) -> Self {
        self.times = count;
        self
    }

    /// Whether it meets a request, which it then has.
    pub(crate) fn takes(&mut self, asked: &Asked) -> bool {
        let is_on_store = asked.origin == Origin::Store;
        let meets = self.times > 0
            && self.on_store.is_none_or(|on_store| on_store == is_on_store)
            && self
                .method
                .as_ref()
                .is_none_or(|method| *method == asked.method)
            && asked.target.contains(&self.path);
        if !meets {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.times -= 1;
        true
    }
}

impl Action {
    /// The reply in the place of any work.
    pub(crate) fn instead(&self) -> Option<Reply> {
        match self {
            Self::Status(status, headers, body) => {
                let mut reply = Reply::new(*status, body.clone());
                for (name, value) in headers {
                    reply.set(name, value.as_str());
                }
                Some(reply)
            }
            Self::Drop => {
                let mut reply = Reply::new(0, "");
                reply.delivery = Delivery::Dropped;
                Some(reply)
            }
            _ => None,
        }
    }

    /// Changes the reply to a request after its work is done.
    pub(crate) fn apply(&self, reply: &mut Reply) {
        match self {
            Self::Late => reply.delivery = Delivery::Dropped,
            Self::Cut(bytes) => reply.delivery = Delivery::Cut(*bytes),
            Self::Truncate(bytes) => reply.body.truncate(*bytes),
            Self::ChunkCut(bytes) => {
                reply.body.truncate(*bytes);
                reply.delivery = Delivery::Chunked;
            }
            Self::Corrupt => {
                let mut bytes = reply.body.to_vec();
                let middle = bytes.len() / 2;
                if let Some(byte) = bytes.get_mut(middle) {
                    *byte ^= 0xff;
                }
                reply.body = bytes.into();
            }
            Self::Header(name, value) => reply.set(name, value.as_str()),
            Self::Slow(milliseconds) => {
                std::thread::sleep(std::time::Duration::from_millis(*milliseconds));
            }
            Self::Trickle(bytes, pause) => reply.delivery = Delivery::Trickled(*bytes, *pause),
            Self::Body(body) => reply.body = body.clone().into(),
            Self::Status(..) | Self::Drop => {}
        }
    }
}
