//! The fixtures that the real library wrote, with what it says of them.
//!
//! They lie in `tests/fixtures`; its `README.md` tells how each was made. A fixture that cannot be
//! read stops the run: nothing is skipped.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a broken fixture must stop the run"
)]

mod fixture;
mod json;

pub use fixture::{BARE_STATE_DICT, ExpectedTensor, Fixture, Form, LIBRARY_VERSIONS, fixtures_dir};
pub use json::Json;

/// The sha-256 of some bytes, in lower-case hex.
pub fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
