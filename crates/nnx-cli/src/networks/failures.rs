//! Errors of networks, their data and their training as errors of a command.

use nnx::net::{Error, ErrorKind};
use nnx::train::{self, ErrorKind as TrainErrorKind};

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

impl From<train::Error> for Failure {
    fn from(error: train::Error) -> Self {
        let (kind, what) = (error.name(), error.to_string());
        match error.into_kind() {
            TrainErrorKind::Net(error) | TrainErrorKind::Validation(error) => error.into(),
            TrainErrorKind::Checkpoint(error) => error.into(),
            TrainErrorKind::Run(error) => match error.kind() {
                nnx::run::ErrorKind::RunExists { id } => Self::new(
                    kind,
                    format!(
                        "run `{id}` has this configuration and exists already; give `--overwrite` to \
                         replace it, or a `salt` in the configuration to keep both"
                    ),
                ),
                _ => error.into(),
            },
            // The name that the commands have for every file that contradicts its format.
            TrainErrorKind::InvalidData { .. } => Self::new("malformed", what),
            _ => Self::new(kind, what),
        }
    }
}

/// Input that may be valid, but is not supported.
pub(super) fn unsupported(what: impl Into<String>) -> Failure {
    Failure::new("unsupported", what)
}

/// An error of the tensor library.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what `map_err` hands over"
)]
pub(super) fn computing(error: nnx::net::candle_core::Error) -> Failure {
    unsupported(error.to_string())
}
