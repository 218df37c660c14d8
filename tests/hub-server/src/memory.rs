//! The Hub within the process.

use std::io::{self, Cursor, Read};
use std::ops::Deref;
use std::sync::Arc;

use nnx_hub::{Body, Request, Response, Transport, TransportError};

use crate::message::{Asked, Delivery, Origin};
use crate::state::HubState;

const HUB: &str = "http://hub.test";
const STORE: &str = "http://store.test";

/// A transport to a Hub in memory; no socket is opened.
#[derive(Clone, Debug)]
pub struct MemoryTransport(Arc<HubState>);

impl MemoryTransport {
    /// A transport to a Hub without repositories.
    #[expect(clippy::new_without_default, reason = "it is made once a test")]
    pub fn new() -> Self {
        let state = HubState::new(HUB.to_owned(), STORE.to_owned());
        Self(Arc::new(state))
    }

    /// The Hub's address.
    pub fn endpoint(&self) -> &'static str {
        HUB
    }
}

impl Deref for MemoryTransport {
    type Target = HubState;

    fn deref(&self) -> &HubState {
        &self.0
    }
}

impl Transport for MemoryTransport {
    fn send(&self, request: Request<'_>) -> Result<Response, TransportError> {
        let broken = |what: &str| TransportError::Broken(what.to_owned());
        let (origin, target) = match (
            request.url.strip_prefix(HUB),
            request.url.strip_prefix(STORE),
        ) {
            (Some(target), _) => (Origin::Hub, target),
            (None, Some(target)) => (Origin::Store, target),
            (None, None) => return Err(broken("the host was not found")),
        };
        let mut body = Vec::new();
        match request.body {
            Body::Empty => {}
            Body::Bytes(bytes) => body.extend_from_slice(bytes),
            Body::Reader(reader, len) => {
                let read = reader.take(len).read_to_end(&mut body);
                read.map_err(|error| broken(&error.to_string()))?;
            }
        }
        let headers = request.headers.iter();
        let reply = self.0.answer(&Asked {
            origin,
            method: request.method.name().to_owned(),
            target: target.to_owned(),
            headers: headers
                .map(|(name, value)| (name.to_string(), value.clone()))
                .collect(),
            body: body.into(),
        });
        let cut = match reply.delivery {
            Delivery::Dropped => return Err(broken("the connection broke")),
            Delivery::Cut(bytes) => Some(bytes),
            _ => None,
        };
        let mut bytes = reply.body;
        if let Some(cut) = cut {
            bytes.truncate(cut);
        }
        let body = Cursor::new(bytes).chain(Ending(cut.is_some()));
        Ok(Response::new(reply.status, reply.headers, body))
    }
}

/// The end of a body: a quiet one, or a connection that breaks.
struct Ending(bool);

impl Read for Ending {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        if self.0 {
            Err(io::ErrorKind::ConnectionReset.into())
        } else {
            Ok(0)
        }
    }
}
