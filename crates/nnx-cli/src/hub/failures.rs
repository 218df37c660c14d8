//! The Hub's errors as errors of the command.

use nnx::hub::{Error, ErrorKind};

use crate::failure::Failure;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let kind = error.kind().name();
        match error.into_kind() {
            ignored @ ErrorKind::WeightsIgnored { .. } => {
                Self::new(kind, format!("{ignored} (`--allow-ignored`)"))
            }
            // This error contains its location.
            ErrorKind::Weights(error) => Self::from(error),
            #[cfg(feature = "net")]
            ErrorKind::Model(error) => match error.downcast::<nnx::net::Error>() {
                Ok(error) => Self::from(*error),
                Err(other) => Self::new(kind, other.to_string()),
            },
            other => Self::new(kind, other.to_string()),
        }
    }
}
