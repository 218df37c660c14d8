//! The Xet store behind the Hub, and what the Hub knows of it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use nnx_hub::Transport;

/// A store that keeps equal parts of files once. As a transport, it gets requests whose URL has no
/// host.
pub trait XetStore: Transport + fmt::Debug {
    /// The file with that SHA-256: its hash in the store, and its bytes.
    fn find(&self, sha256: &str) -> Option<(String, Vec<u8>)>;
}

/// What the Hub knows of the store.
#[derive(Debug)]
pub(crate) struct Xet {
    pub(crate) store: Arc<dyn XetStore>,
    /// Its address.
    pub(crate) address: String,
    /// The hashes of files in the store, by their SHA-256.
    pub(crate) hashes: BTreeMap<String, String>,
    /// How many tokens were given.
    pub(crate) given: u64,
    pub(crate) lies: Lies,
}

/// What the Hub says that is not so.
#[derive(Debug, Default)]
pub(crate) struct Lies {
    /// The address of the store.
    pub(crate) address: Option<String>,
    /// The hash of all files in the store.
    pub(crate) hash: Option<String>,
    /// How many seconds the next token is valid.
    pub(crate) valid: Option<i64>,
}

impl Xet {
    pub(crate) fn new(store: Arc<dyn XetStore>, address: String) -> Self {
        Self {
            store,
            address,
            hashes: BTreeMap::new(),
            given: 0,
            lies: Lies::default(),
        }
    }
}
