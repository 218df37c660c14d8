//! Errors of a store as errors of a checkpoint.

use std::io;

use nnx_checkpoint::Error;
use object_store::Error as StoreError;

/// Characters of a store's message that are shown.
const SHOWN: usize = 400;

/// An error with a message of its own.
pub(crate) fn failed(what: impl Into<String>) -> Error {
    io::Error::other(what.into()).into()
}

/// The error of an object that is another one than when it was opened.
pub(crate) fn changed() -> Error {
    failed("the object changed while it was read; read it again")
}

/// The error of a request.
pub(crate) fn from_store(error: &StoreError) -> Error {
    match error {
        StoreError::NotFound { .. } => io::Error::from(io::ErrorKind::NotFound).into(),
        StoreError::Precondition { .. } | StoreError::NotModified { .. } => changed(),
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
            failed(format!(
                "the store denies access; check the credentials in the environment: {}",
                shown(error)
            ))
        }
        _ => failed(format!("the request to the store failed: {}", shown(error))),
    }
}

/// The message in one line, its end left out where it is long.
fn shown(error: &StoreError) -> String {
    let text = error.to_string();
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= SHOWN {
        return line;
    }
    let mut short: String = line.chars().take(SHOWN).collect();
    short.push('…');
    short
}
