//! The error of this crate.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The maximum number of characters of a text from a file in a message.
const MAX_SHOWN_CHARS: usize = 120;

/// The cause of an error, and the file. It is one word wide, so that results stay small.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    path: Option<PathBuf>,
}

/// The causes that a caller handles differently.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no run with that id; nothing was created.
    #[error("there is no run `{id}`")]
    NoSuchRun {
        /// The id.
        id: String,
    },
    /// The run exists already, and overwriting was not asked for.
    #[error(
        "run `{id}` exists already; overwrite it, or give it another salt or data id to keep both"
    )]
    RunExists {
        /// The id.
        id: String,
    },
    /// Another training has reserved the run; nothing was changed.
    #[error(
        "another process trains the run `{id}`: wait until that training has ended, or stop it"
    )]
    RunInTraining {
        /// The id.
        id: String,
    },
    /// A text is not a valid tag of a checkpoint.
    #[error(
        "expected a checkpoint tag of letters, digits, `.`, `_` and `-` that starts with a letter \
         or digit, found `{tag}`"
    )]
    InvalidTag {
        /// The text, shortened.
        tag: String,
    },
    /// A file contradicts its format.
    #[error("{what}")]
    Malformed {
        /// The expected and the found contents.
        what: String,
    },
    /// A file may be sound, but this version does not read or write it.
    #[error("{what}")]
    Unsupported {
        /// The property that is not supported.
        what: String,
    },
    /// A limit of this crate was exceeded; see [`limits`](crate::limits).
    #[error("expected at most {allowed} {what}, found more")]
    LimitExceeded {
        /// The things that are counted, in the plural.
        what: &'static str,
        /// How many are allowed.
        allowed: u64,
    },
    /// The files of a checkpoint do not belong together: one is missing, was changed, or is of another
    /// save. (`ResumePointError` in Python.)
    #[error("{what}")]
    ResumePoint {
        /// The file at fault, and the reason.
        what: String,
    },
    /// The files of a history journal do not belong together: one is missing, was changed, or has
    /// another form. (`HistoryCorruptionError` in Python.)
    #[error("{what}")]
    HistoryCorruption {
        /// The expected and the found contents.
        what: String,
    },
    /// The records of the run are in a journal under another root, which a save does not copy.
    #[error(
        "run `{id}` keeps its history in the journal `{}`; save it under the root of that journal, or \
         export the history as a table",
        journal.display()
    )]
    JournalElsewhere {
        /// The id.
        id: String,
        /// The folder of the journal.
        journal: PathBuf,
    },
    /// A history cannot be migrated to a journal.
    #[error("{what}")]
    Migration {
        /// The reason and the remedy.
        what: String,
    },
    /// The training state beside a checkpoint belongs to another one, or cannot be used.
    #[error("{what}")]
    TrainingState {
        /// The problem, in a sentence.
        what: String,
    },
    /// A configuration is not valid.
    #[error(transparent)]
    InvalidConfiguration(nnx_params::Error),
    /// A checkpoint file cannot be read or written.
    #[error(transparent)]
    Checkpoint(nnx_checkpoint::Error),
    /// The operating system refused.
    #[error(transparent)]
    Io(io::Error),
}

impl ErrorKind {
    /// The kind's name in `snake_case`, for scripts: it stays the same from version to version.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NoSuchRun { .. } => "no_such_run",
            Self::RunExists { .. } => "run_exists",
            Self::RunInTraining { .. } => "run_in_training",
            Self::InvalidTag { .. } => "invalid_tag",
            Self::Malformed { .. } => "malformed",
            Self::Unsupported { .. } => "unsupported",
            Self::LimitExceeded { .. } => "limit_exceeded",
            Self::ResumePoint { .. } => "resume_point",
            Self::HistoryCorruption { .. } => "history_corruption",
            Self::JournalElsewhere { .. } => "journal_elsewhere",
            Self::Migration { .. } => "migration",
            Self::TrainingState { .. } => "training_state",
            Self::InvalidConfiguration(_) => "invalid_configuration",
            Self::Checkpoint(error) => error.kind().name(),
            Self::Io(_) => "io",
        }
    }
}

impl Error {
    /// The cause.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The name of the cause: [`ErrorKind::name`].
    pub fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// The cause, owned.
    pub fn into_kind(self) -> ErrorKind {
        self.0.kind
    }

    /// The file or folder at fault, if it is known.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    #[cold]
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, path: None }))
    }

    /// A file that contradicts its format.
    #[cold]
    pub(crate) fn malformed(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed { what: what.into() })
    }

    /// Something this version does not read or write.
    #[cold]
    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported { what: what.into() })
    }

    /// A limit was exceeded.
    #[cold]
    pub(crate) fn limit(what: &'static str, allowed: u64) -> Self {
        Self::new(ErrorKind::LimitExceeded { what, allowed })
    }

    /// Files that do not belong together.
    #[cold]
    pub(crate) fn resume_point(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::ResumePoint { what: what.into() })
    }

    /// Files of a journal that do not belong together.
    #[cold]
    pub(crate) fn history_corruption(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::HistoryCorruption { what: what.into() })
    }

    /// A training state that belongs to another checkpoint.
    #[cold]
    pub(crate) fn training_state(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::TrainingState { what: what.into() })
    }

    /// Adds the file at fault, unless there is one already.
    #[cold]
    pub(crate) fn in_path(mut self, path: &Path) -> Self {
        self.0.path.get_or_insert_with(|| path.to_path_buf());
        self
    }
}

/// A text from a file in the form for a message: on one line, and cut if it is long.
pub(crate) fn shown(text: &str) -> String {
    let mut characters = text.chars().flat_map(char::escape_debug);
    let mut shown: String = characters.by_ref().take(MAX_SHOWN_CHARS).collect();
    if characters.next().is_some() {
        shown.push('…');
    }
    shown
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.kind)?;
        // The error of a checkpoint names its file.
        let named = matches!(&self.0.kind, ErrorKind::Checkpoint(error) if error.path().is_some());
        match self.path() {
            Some(path) if !named => write!(f, " (`{}`)", path.display()),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ErrorKind::InvalidConfiguration(error) => Some(error),
            ErrorKind::Checkpoint(error) => Some(error),
            ErrorKind::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    #[cold]
    fn from(error: io::Error) -> Self {
        Self::new(ErrorKind::Io(error))
    }
}

impl From<nnx_params::Error> for Error {
    #[cold]
    fn from(error: nnx_params::Error) -> Self {
        Self::new(ErrorKind::InvalidConfiguration(error))
    }
}

impl From<nnx_checkpoint::Error> for Error {
    #[cold]
    fn from(error: nnx_checkpoint::Error) -> Self {
        Self::new(ErrorKind::Checkpoint(error))
    }
}
