//! The Hub on two free ports of the loopback interface.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::http;
use crate::message::Origin;
use crate::state::HubState;

/// A Hub that listens until it is dropped.
///
/// It has two origins, because clients must take the second one, which has the large files, for a
/// stranger's.
#[derive(Debug)]
pub struct HubServer {
    state: Arc<HubState>,
    endpoint: String,
    stop: Arc<AtomicBool>,
    listening: Vec<(SocketAddr, JoinHandle<()>)>,
}

impl HubServer {
    /// Listens on two free ports.
    ///
    /// # Errors
    /// When there are none.
    pub fn start() -> io::Result<Self> {
        let listeners = [
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?,
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?,
        ];
        let [hub, store] = [listeners[0].local_addr()?, listeners[1].local_addr()?];
        let endpoint = format!("http://{hub}");
        let state = Arc::new(HubState::new(endpoint.clone(), format!("http://{store}")));
        let stop = Arc::new(AtomicBool::new(false));
        let mut listening = Vec::new();
        for (listener, origin) in listeners.into_iter().zip([Origin::Hub, Origin::Store]) {
            let address = listener.local_addr()?;
            let (state, stop) = (Arc::clone(&state), Arc::clone(&stop));
            let thread = thread::spawn(move || listen(&listener, origin, &state, &stop));
            listening.push((address, thread));
        }
        Ok(Self {
            state,
            endpoint,
            stop,
            listening,
        })
    }

    /// The Hub's address.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

fn listen(listener: &TcpListener, origin: Origin, state: &Arc<HubState>, stop: &AtomicBool) {
    for stream in listener.incoming() {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let state = Arc::clone(state);
        thread::spawn(move || {
            // A connection that breaks is the client's business, or a fault that was asked for.
            let _ = http::serve(&stream, origin, &state);
        });
    }
}

impl Deref for HubServer {
    type Target = HubState;

    fn deref(&self) -> &HubState {
        &self.state
    }
}

impl Drop for HubServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        for (address, thread) in self.listening.drain(..) {
            // Wakes the listener, which then sees that it shall stop.
            drop(TcpStream::connect(address));
            let _ = thread.join();
        }
    }
}
