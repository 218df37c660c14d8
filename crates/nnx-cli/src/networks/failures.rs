//! What networks refuse, as failures of a command.

use nnx::net::{Error, ErrorKind};

use crate::failure::Failure;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let what = error.to_string();
        let kind = match error.into_kind() {
            ErrorKind::Checkpoint(error) => return error.into(),
            ErrorKind::Input { .. } => "wrong_input",
            ErrorKind::Target { .. } => "wrong_target",
            ErrorKind::StateDict(_) => "wrong_weights",
            ErrorKind::Configuration { .. } | ErrorKind::Params(_) => "invalid_configuration",
            _ => "unsupported",
        };
        Self::new(kind, what)
    }
}

/// Bytes that contradict their format.
pub(super) fn malformed(what: impl Into<String>) -> Failure {
    Failure::new("malformed", what)
}

/// What is sound, but not read or done.
pub(super) fn unsupported(what: impl Into<String>) -> Failure {
    Failure::new("unsupported", what)
}
