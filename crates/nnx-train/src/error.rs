//! The crate's one error.

use std::fmt;
use std::path::Path;

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error; [`kind`](Error::kind) is the cause. It is one word wide, so that results stay small.
#[derive(Debug)]
pub struct Error(Box<ErrorKind>);

/// The causes that a caller handles differently.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Settings that do not go together, or do not fit the model or the data: Python's `ValueError`.
    #[error("{what}")]
    InvalidConfiguration {
        /// The problem, in a sentence.
        what: String,
    },
    /// A loss or a gradient is not finite: Python's `FloatingPointError`.
    #[error("{what}")]
    Diverged {
        /// The number that is not finite, with the epoch and the batch.
        what: String,
    },
    /// The checkpoint to resume from is not one, or not one that this training can go on from:
    /// Python's `ResumePointError` and the `ValueError`s of a resume.
    #[error("{what}")]
    CannotResume {
        /// Why, with the run and the checkpoint.
        what: String,
    },
    /// The saved states of components do not fit those that are registered: Python's
    /// `ComponentRestoreError`.
    #[error("{}", problems.join("; "))]
    ComponentRestore {
        /// Each problem; nothing was changed.
        problems: Vec<String>,
    },
    /// A monitor has no value to decide by, and was told to make that an error: Python's
    /// `MonitorUnavailableError`.
    #[error("{what}")]
    MonitorUnavailable {
        /// The monitor and the epoch.
        what: String,
    },
    /// Data that cannot be read as samples.
    #[error("{what}")]
    InvalidData {
        /// The place, the expected and the found value.
        what: String,
    },
    /// The request may be valid, but this version or build does not support it.
    #[error("{what}")]
    Unsupported {
        /// The thing that is not supported, and the remedy if there is one.
        what: String,
    },
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The net, its loss or its task does not take what it was given.
    #[error(transparent)]
    Net(#[from] nnx_net::Error),
    /// The net, its loss or its task does not take the data of the validation.
    #[error(transparent)]
    Validation(nnx_net::Error),
    /// The run cannot be read or written.
    #[error(transparent)]
    Run(#[from] nnx_run::Error),
    /// A checkpoint cannot be read or made.
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
            Self::InvalidConfiguration { .. } | Self::Params(_) => "invalid_configuration",
            Self::Diverged { .. } => "diverged",
            Self::CannotResume { .. } => "cannot_resume",
            Self::ComponentRestore { .. } => "component_restore",
            Self::MonitorUnavailable { .. } => "monitor_unavailable",
            Self::InvalidData { .. } => "invalid_data",
            Self::Unsupported { .. } | Self::Candle(_) => "unsupported",
            Self::Io(_) => "io",
            Self::Net(error) | Self::Validation(error) => error.name(),
            Self::Run(error) => error.name(),
            Self::Checkpoint(error) => error.kind().name(),
        }
    }
}

impl ErrorKind {
    /// The same cause in other words.
    fn saying(self, words: impl Fn(String) -> String) -> Self {
        match self {
            Self::InvalidData { what } => Self::InvalidData { what: words(what) },
            Self::Unsupported { what } => Self::Unsupported { what: words(what) },
            Self::Io(error) => {
                Self::Io(std::io::Error::new(error.kind(), words(error.to_string())))
            }
            other => other,
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

    /// Settings that do not go together.
    #[cold]
    pub(crate) fn configuration(what: impl Into<String>) -> Self {
        Self::from(ErrorKind::InvalidConfiguration { what: what.into() })
    }

    /// A checkpoint from which this training cannot go on.
    #[cold]
    pub(crate) fn resume(what: impl Into<String>) -> Self {
        Self::from(ErrorKind::CannotResume { what: what.into() })
    }

    /// A loss or a gradient that is not finite.
    #[cold]
    pub(crate) fn diverged(what: impl Into<String>) -> Self {
        Self::from(ErrorKind::Diverged { what: what.into() })
    }

    /// Something that this version or build does not support.
    #[cold]
    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::from(ErrorKind::Unsupported { what: what.into() })
    }

    /// Data that cannot be read as samples.
    #[cold]
    pub(crate) fn data(what: impl Into<String>) -> Self {
        Self::from(ErrorKind::InvalidData { what: what.into() })
    }

    /// Names the file.
    #[cold]
    pub(crate) fn in_path(self, path: &Path) -> Self {
        match self.into_kind() {
            ErrorKind::Checkpoint(error) => Self::from(error.in_path(path)),
            kind => kind
                .saying(|what| format!("{what} (file `{}`)", path.display()))
                .into(),
        }
    }

    /// Names the array.
    #[cold]
    pub(crate) fn in_array(self, name: &str) -> Self {
        match self.into_kind() {
            ErrorKind::Checkpoint(error) => Self::from(error.in_tensor(name)),
            kind => kind.saying(|what| format!("array `{name}`: {what}")).into(),
        }
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

from_cause!(
    std::io::Error,
    nnx_net::Error,
    nnx_run::Error,
    nnx_checkpoint::Error,
    nnx_params::Error,
    candle_core::Error
);
