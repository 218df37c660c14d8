//! The hashes that the Hub names files by.

use sha1::Sha1;
use sha2::{Digest, Sha256};

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub(crate) fn sha1(bytes: &[u8]) -> String {
    hex(&Sha1::digest(bytes))
}

pub(crate) fn git_blob(bytes: &[u8]) -> String {
    let mut hasher = Sha1::new_with_prefix(format!("blob {}\0", bytes.len()));
    hasher.update(bytes);
    hex(&hasher.finalize())
}
