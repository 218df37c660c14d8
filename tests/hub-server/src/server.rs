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
use crate::xet_store::{Xet, XetStore};

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
        let [hub, store] = [free_port()?, free_port()?];
        let endpoint = format!("http://{}", hub.local_addr()?);
        let store_address = format!("http://{}", store.local_addr()?);
        let state = Arc::new(HubState::new(endpoint.clone(), store_address));
        let mut server = Self {
            state,
            endpoint,
            stop: Arc::default(),
            listening: Vec::new(),
        };
        server.serve(hub, Origin::Hub)?;
        server.serve(store, Origin::Store)?;
        Ok(server)
    }

    /// Listens on three free ports; the third one is that of a Xet store.
    ///
    /// # Errors
    /// When there are none.
    pub fn start_with_xet(store: Arc<dyn XetStore>) -> io::Result<Self> {
        let mut server = Self::start()?;
        let port = free_port()?;
        let address = format!("http://{}", port.local_addr()?);
        server.state.inner.lock().unwrap().xet = Some(Xet::new(store, address));
        server.serve(port, Origin::Xet)?;
        Ok(server)
    }

    fn serve(&mut self, listener: TcpListener, origin: Origin) -> io::Result<()> {
        let address = listener.local_addr()?;
        let (state, stop) = (Arc::clone(&self.state), Arc::clone(&self.stop));
        let thread = thread::spawn(move || listen(&listener, origin, &state, &stop));
        self.listening.push((address, thread));
        Ok(())
    }

    /// The Hub's address.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

fn free_port() -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
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
