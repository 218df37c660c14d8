//! Errors of networks as errors of a command.

use nnx::net::{Error, ErrorKind};

use crate::failure::Failure;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (kind, what) = (error.kind().name(), error.to_string());
        match error.into_kind() {
            ErrorKind::Checkpoint(error) => error.into(),
            _ => Self::new(kind, what),
        }
    }
}

/// Bytes that contradict their format.
pub(super) fn malformed(what: impl Into<String>) -> Failure {
    Failure::new("malformed", what)
}

/// Input that may be valid, but is not supported.
pub(super) fn unsupported(what: impl Into<String>) -> Failure {
    Failure::new("unsupported", what)
}
