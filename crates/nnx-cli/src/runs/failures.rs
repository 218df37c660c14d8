//! Errors of runs, as failures of a command.

use std::path::Path;

use nnx::run::{Error, ErrorKind};

use crate::failure::Failure;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let path = error.path().map(Path::to_path_buf);
        let failure = match error.into_kind() {
            ErrorKind::Checkpoint(error) => Self::from(error),
            kind => Self::new(kind.name(), kind.to_string()),
        };
        match path {
            Some(path) => failure.in_path(&path),
            None => failure,
        }
    }
}
