//! The crate's one error.

use std::fmt;

use nnx_params::Losses;

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong: one word wide, so that results stay small.
///
/// [`kind`](Error::kind) tells the cause.
#[derive(Debug)]
pub struct Error(Box<ErrorKind>);

/// The causes that a caller handles differently.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An input that the net cannot take.
    #[error("{net} takes {expected}, got {found}")]
    Input {
        /// The kind of net, such as `feed_fwd`.
        net: &'static str,
        /// What the net takes.
        expected: String,
        /// What it was given.
        found: String,
    },
    /// Targets that do not go with the logits.
    #[error("the loss `{loss}` takes {expected}, got {found}")]
    Target {
        /// The loss.
        loss: Losses,
        /// What it takes.
        expected: String,
        /// What it was given.
        found: String,
    },
    /// The configurations do not belong together.
    #[error("{what}")]
    Configuration {
        /// What was expected and what was found.
        what: String,
    },
    /// The weights are not those of the net.
    #[error("{0}")]
    StateDict(StateDictMismatch),
    /// Sound, but not something that this version or build runs.
    #[error("{what}")]
    Unsupported {
        /// What is not supported, and what to do instead where there is a way.
        what: String,
    },
    /// The checkpoint cannot be read or made.
    #[error(transparent)]
    Checkpoint(#[from] nnx_checkpoint::Error),
    /// A configuration is not a valid one.
    #[error(transparent)]
    InvalidConfiguration(#[from] nnx_params::Error),
    /// The tensor library refused.
    #[error(transparent)]
    Candle(#[from] candle_core::Error),
}

/// Everything that keeps a state dict from fitting a net, found in one go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateDictMismatch {
    /// Names that the net has and the state dict lacks, in the net's order.
    pub missing: Vec<String>,
    /// Names that the state dict has and the net lacks, in the state dict's order.
    pub unexpected: Vec<String>,
    /// Names whose shapes differ, in the net's order.
    pub misshaped: Vec<ShapeMismatch>,
    /// Names of the net behind which the state dict has something that is no tensor.
    pub not_tensors: Vec<String>,
}

/// One tensor whose shape is not that of the net's parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShapeMismatch {
    /// The parameter.
    pub name: String,
    /// Its shape in the net.
    pub expected: Vec<usize>,
    /// The shape of the tensor in the state dict.
    pub found: Vec<usize>,
}

impl StateDictMismatch {
    /// Whether the state dict fits after all.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty()
            && self.unexpected.is_empty()
            && self.misshaped.is_empty()
            && self.not_tensors.is_empty()
    }
}

impl fmt::Display for StateDictMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the state dict does not fit the net: ")?;
        let mut separator = "";
        for (what, names) in [
            ("missing", &self.missing),
            ("unexpected", &self.unexpected),
            ("not a tensor", &self.not_tensors),
        ] {
            if !names.is_empty() {
                write!(f, "{separator}{what} `{}`", names.join("`, `"))?;
                separator = "; ";
            }
        }
        for ShapeMismatch {
            name,
            expected,
            found,
        } in &self.misshaped
        {
            write!(
                f,
                "{separator}`{name}` should have shape `{expected:?}`, has `{found:?}`"
            )?;
            separator = "; ";
        }
        Ok(())
    }
}

impl ErrorKind {
    /// The kind's name in `snake_case`, which stays the same from version to version: for scripts.
    /// That of a checkpoint is the name that nnx-checkpoint gives it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Input { .. } => "wrong_input",
            Self::Target { .. } => "wrong_target",
            Self::StateDict(_) => "wrong_weights",
            Self::Configuration { .. } | Self::InvalidConfiguration(_) => "invalid_configuration",
            Self::Checkpoint(error) => error.name(),
            Self::Unsupported { .. } | Self::Candle(_) => "unsupported",
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

    /// An input that the net cannot take.
    #[cold]
    pub(crate) fn input(
        net: &'static str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::from(ErrorKind::Input {
            net,
            expected: expected.into(),
            found: found.into(),
        })
    }

    /// Targets that do not go with the logits.
    #[cold]
    pub(crate) fn target(
        loss: Losses,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::from(ErrorKind::Target {
            loss,
            expected: expected.into(),
            found: found.into(),
        })
    }

    /// Configurations that do not belong together.
    #[cold]
    pub(crate) fn configuration(what: impl Into<String>) -> Self {
        Self::from(ErrorKind::Configuration { what: what.into() })
    }

    /// Something this version or build does not run.
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
