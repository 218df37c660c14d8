//! The crate's one error.

use std::fmt;

use nnx_checkpoint::StateDictMismatch;
use nnx_params::Losses;

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error; [`kind`](Error::kind) is the cause. It is one word wide, so that results stay small.
#[derive(Debug)]
pub struct Error(Box<ErrorKind>);

/// The causes that a caller handles differently.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An input that the net does not take.
    #[error("{net} takes {expected}, got {found}")]
    WrongInput {
        /// The kind of net, such as `feed_fwd`.
        net: &'static str,
        /// The inputs that the net takes.
        expected: String,
        /// The given inputs.
        found: String,
    },
    /// Targets that do not fit the logits.
    #[error("the loss `{loss}` takes {expected}, got {found}")]
    WrongTarget {
        /// The loss.
        loss: Losses,
        /// The targets that the loss takes.
        expected: String,
        /// The given targets.
        found: String,
    },
    /// The configurations do not fit together.
    #[error("{what}")]
    InvalidConfiguration {
        /// The problem, in a sentence.
        what: String,
    },
    /// The weights are not those of the net.
    #[error("the state dict does not fit the net: {0}")]
    WrongWeights(StateDictMismatch),
    /// The request may be valid, but this version or build does not support it.
    #[error("{what}")]
    Unsupported {
        /// The thing that is not supported, and the remedy if there is one.
        what: String,
    },
    /// The checkpoint cannot be read or made.
    #[error(transparent)]
    Checkpoint(#[from] nnx_checkpoint::Error),
    /// A configuration is not valid.
    #[error(transparent)]
    Params(#[from] nnx_params::Error),
    /// The tensor library failed.
    #[error(transparent)]
    Candle(#[from] candle_core::Error),
}

impl ErrorKind {
    /// The kind's name in `snake_case`, for scripts: it stays the same from version to version.
    pub fn name(&self) -> &'static str {
        match self {
            Self::WrongInput { .. } => "wrong_input",
            Self::WrongTarget { .. } => "wrong_target",
            Self::InvalidConfiguration { .. } | Self::Params(_) => "invalid_configuration",
            Self::WrongWeights(_) => "wrong_weights",
            Self::Unsupported { .. } | Self::Candle(_) => "unsupported",
            Self::Checkpoint(error) => error.kind().name(),
        }
    }
}

impl Error {
    /// The cause.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// The name of the cause: [`ErrorKind::name`].
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// The cause, owned.
    pub fn into_kind(self) -> ErrorKind {
        *self.0
    }

    /// An input that the net does not take.
    #[cold]
    pub(crate) fn input(
        net: &'static str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::from(ErrorKind::WrongInput {
            net,
            expected: expected.into(),
            found: found.into(),
        })
    }

    /// Targets that do not fit the logits.
    #[cold]
    pub(crate) fn target(
        loss: Losses,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::from(ErrorKind::WrongTarget {
            loss,
            expected: expected.into(),
            found: found.into(),
        })
    }

    /// Configurations that do not fit together.
    #[cold]
    pub(crate) fn configuration(what: impl Into<String>) -> Self {
        Self::from(ErrorKind::InvalidConfiguration { what: what.into() })
    }

    /// Something that this version or build does not support.
    #[cold]
    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::from(ErrorKind::Unsupported { what: what.into() })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl From<ErrorKind> for Error {
    #[cold]
    fn from(kind: ErrorKind) -> Self {
        Self(Box::new(kind))
    }
}

macro_rules! from_cause {
    ($($cause:ty),*) => {$(
        impl From<$cause> for Error {
            #[cold]
            fn from(cause: $cause) -> Self {
                Self::from(ErrorKind::from(cause))
            }
        }
    )*};
}

from_cause!(nnx_checkpoint::Error, nnx_params::Error, candle_core::Error);
