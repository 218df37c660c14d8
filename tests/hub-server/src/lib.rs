//! A Hub for tests: repositories in memory, the replies that the real clients need, and faults on
//! demand; reached over the loopback interface or, as a [`Transport`](nnx_hub::Transport), within
//! the process.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a server for tests; a poisoned lock is a test that has failed already"
)]

mod access;
mod answer;
mod commit;
mod fault;
mod gitignore;
mod hash;
mod http;
mod lfs;
mod memory;
mod message;
mod repo;
mod resolve;
mod routes;
mod server;
mod state;
mod xet;
mod xet_store;

pub use fault::{Action, Fault};
pub use memory::MemoryTransport;
pub use message::Seen;
pub use server::HubServer;
pub use state::{HubState, READ_TOKEN, WRITE_TOKEN};
pub use xet_store::XetStore;
