//! The crate's one error: the problem, its place and the remedy.

use std::fmt;
use std::path::{Path, PathBuf};

mod fault;

use crate::message_text::shorten;
pub(crate) use crate::message_text::{names_in_words, one_line, shown, shown_bytes, shown_path};
pub use fault::DistributedFault;

/// Bytes that a message says of the cause, and of the name of each place.
const CAUSE_BYTES: usize = 600;
const NAME_BYTES: usize = 160;

/// The result of every fallible call in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A cause and its location: one word wide, so that results stay small.
///
/// [`kind`](Error::kind) tells the cause, the other getters the place, as far as it is known.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    path: Option<PathBuf>,
    entry: Option<String>,
    tensor: Option<String>,
    offset: Option<u64>,
    /// Whether the offset counts from the start of the whole already.
    is_shifted: bool,
}

/// The causes that a caller handles differently.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no file at the path.
    #[error("no such file")]
    NotFound,
    /// The file holds no bytes at all.
    #[error("the file is empty")]
    Empty,
    /// The file opens, but its contents are not an `NNCheckpoint`.
    #[error("not an NNCheckpoint: the file holds {found}")]
    NotNNCheckpoint {
        /// The contents of the file, such as `a dict of 6 items`.
        found: String,
    },
    /// The file is something else that people mistake for a checkpoint, or a folder without weights.
    #[error("{what} is no checkpoint; {hint}")]
    NotACheckpoint {
        /// The kind of the file, with its article: `a Git LFS pointer`.
        what: String,
        /// Advice what to do instead.
        hint: String,
    },
    /// Two values would get one name.
    #[error("two values would get the name `{}`", shorten(name, NAME_BYTES))]
    NameCollision {
        /// The name.
        name: String,
    },
    /// A file that the index of a sharded checkpoint names is not there.
    #[error(
        "the index names the shard `{}`, which is not there; download it as well",
        shorten(shard, NAME_BYTES)
    )]
    MissingShard {
        /// The name of the file, as the index has it.
        shard: String,
    },
    /// Of files whose names count them (`model-00001-of-00002.safetensors`), and that have no index,
    /// some are not there.
    #[error(
        "the names of the shards count {count}, of which `{}`{} not there; download the rest as well",
        shards.join("`, `"),
        if shards.len() == 1 { " is" } else { " are" }
    )]
    MissingShards {
        /// How many there are to be.
        count: usize,
        /// The names of the first ones that are not there.
        shards: Vec<String>,
    },
    /// The index of a conversion that several workers do cannot be written, because some of the
    /// shards are not there.
    #[error(
        "{missing} of {count} shards are not written: `{}`{}; run their workers again",
        shards.join("`, `"),
        if *missing > shards.len() { ", …" } else { "" }
    )]
    ShardsNotWritten {
        /// How many there are to be.
        count: usize,
        /// How many are not there.
        missing: usize,
        /// The names of the first ones that are not there.
        shards: Vec<String>,
    },
    /// A file that the index of a sharded checkpoint names would be outside the index's folder.
    #[error(
        "the index names the shard `{}`, which would lie outside its folder",
        shorten(shard, NAME_BYTES)
    )]
    PathTraversal {
        /// The name of the file, as the index has it.
        shard: String,
    },
    /// A conversion's target is there already.
    #[error("there is a file already, and the conversion was not told to replace it")]
    TargetExists,
    /// A conversion's target has no place for a value of the source.
    #[error("the target has no place for {}", listed(values, *count))]
    NotHeld {
        /// The first of the values, each with its description.
        values: Vec<String>,
        /// How many there are.
        count: usize,
        /// Paths below which there are tensors and nothing else.
        paths: Vec<String>,
    },
    /// A conversion's target would hold no tensor, or empty ones alone.
    #[error(
        "the target would hold no tensor{}",
        match (*empty, *count) {
            (0, 0) => ": the source is empty".to_owned(),
            (0, _) => format!(": the source has none, only {}", listed(values, *count)),
            (1, _) => " with an element: the only one has a size of 0".to_owned(),
            (empty, _) => format!(" with an element: all {empty} have a size of 0"),
        }
    )]
    NoTensors {
        /// How many tensors there are, each of them without an element.
        empty: usize,
        /// The first of the values that are not tensors, each with its description.
        values: Vec<String>,
        /// How many such values there are.
        count: usize,
    },
    /// The caller stopped the work; nothing was changed.
    #[error("stopped; nothing was changed")]
    Interrupted,
    /// There is no tensor of the name that was asked for.
    #[error("the checkpoint has no tensor of that name")]
    NoSuchTensor,
    /// The bytes contradict the format that they claim to have.
    #[error("{what}")]
    Malformed {
        /// A sentence with the expected and the found value.
        what: String,
    },
    /// The bytes may be sound, but this version does not read or write them.
    #[error("{what}")]
    Unsupported {
        /// A sentence with the thing that is not supported, and the remedy if there is one.
        what: String,
    },
    /// A checkpoint of several processes is not whole, contradicts itself, or is of a kind that
    /// cannot be joined.
    #[error("{what}")]
    Distributed {
        /// The reason, for a program.
        fault: DistributedFault,
        /// The expected and the found contents.
        what: String,
    },
    /// The file names a class or function that is not allowed in it: one that is made to run code,
    /// or, in an `NNCheckpoint`, any that NNx does not write.
    #[error(
        "the global `{}.{}` is not allowed in this file; nothing was executed",
        shorten(module, NAME_BYTES),
        shorten(name, NAME_BYTES)
    )]
    UnsafeGlobal {
        /// The Python module.
        module: String,
        /// The name within the module.
        name: String,
    },
    /// The PyTorch file that a conversion would write names a class or function that runs code when
    /// Python loads the file.
    #[error(
        "the target would name `{}.{}` as the source does, which can run code when Python loads \
         it; a safetensors file names nothing",
        shorten(module, NAME_BYTES),
        shorten(name, NAME_BYTES)
    )]
    DangerousTarget {
        /// The Python module.
        module: String,
        /// The name within the module.
        name: String,
    },
    /// A limit of [`Limits`](crate::Limits) was reached.
    #[error(
        "the limit `{limit}` allows {allowed}, the file asks for {found} or more; raise it if you \
         trust the file"
    )]
    LimitExceeded {
        /// The field of [`Limits`](crate::Limits).
        limit: &'static str,
        /// The value of that field.
        allowed: u64,
        /// The least value that would have got further: the number in the file, if it is known,
        /// else one more than allowed.
        found: u64,
    },
    /// A configuration in the file is not a valid one.
    #[cfg(feature = "nnx")]
    #[error(transparent)]
    InvalidConfiguration(#[from] nnx_params::Error),
    /// The operating system refused.
    #[error(transparent)]
    Io(std::io::Error),
}

impl ErrorKind {
    /// The kind's name in `snake_case`, which stays the same from version to version: for scripts,
    /// and for `nnx --json`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Empty => "empty",
            Self::NotNNCheckpoint { .. } => "not_nn_checkpoint",
            Self::NotACheckpoint { .. } => "not_a_checkpoint",
            Self::NameCollision { .. } => "name_collision",
            Self::MissingShard { .. }
            | Self::MissingShards { .. }
            | Self::ShardsNotWritten { .. } => "missing_shard",
            Self::PathTraversal { .. } => "path_traversal",
            Self::TargetExists => "target_exists",
            Self::NotHeld { .. } => "not_held",
            Self::NoTensors { .. } => "no_tensors",
            Self::Interrupted => "interrupted",
            Self::NoSuchTensor => "no_such_tensor",
            Self::Malformed { .. } => "malformed",
            Self::Unsupported { .. } => "unsupported",
            Self::Distributed { fault, .. } => fault.name(),
            Self::UnsafeGlobal { .. } => "unsafe_global",
            Self::DangerousTarget { .. } => "dangerous_target",
            Self::LimitExceeded { .. } => "limit_exceeded",
            #[cfg(feature = "nnx")]
            Self::InvalidConfiguration(_) => "invalid_configuration",
            Self::Io(_) => "io",
        }
    }
}

/// Values as a message lists them.
fn listed(values: &[String], count: usize) -> String {
    let shown: Vec<String> = values
        .iter()
        .map(|value| shorten(value, NAME_BYTES))
        .collect();
    let more = if count > values.len() { ", …" } else { "" };
    let what = if count == 1 { "value" } else { "values" };
    format!("{count} {what}: {}{more}", shown.join(", "))
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

    /// The file, where one was involved.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The entry of the archive (or the metadata key of a safetensors file) that is at fault.
    pub fn entry(&self) -> Option<&str> {
        self.0.entry.as_deref()
    }

    /// The tensor at fault.
    pub fn tensor(&self) -> Option<&str> {
        self.0.tensor.as_deref()
    }

    /// Where the fault was noticed: bytes from the start of the [`entry`](Error::entry) where one
    /// is named, else from the start of the file.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// An error of the given kind, at no place yet.
    #[cold]
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner {
            kind,
            path: None,
            entry: None,
            tensor: None,
            offset: None,
            is_shifted: false,
        }))
    }

    /// Bytes that contradict their format.
    #[cold]
    pub(crate) fn malformed(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed {
            what: shorten(&what.into(), CAUSE_BYTES),
        })
    }

    /// Something this version does not read or write.
    #[cold]
    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported {
            what: shorten(&what.into(), CAUSE_BYTES),
        })
    }

    /// A checkpoint of several processes that cannot be joined.
    #[cold]
    pub(crate) fn distributed(fault: DistributedFault, what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Distributed {
            fault,
            what: shorten(&what.into(), CAUSE_BYTES),
        })
    }

    /// A limit reached.
    #[cold]
    pub(crate) fn limit(limit: &'static str, allowed: u64, found: u64) -> Self {
        Self::new(ErrorKind::LimitExceeded {
            limit,
            allowed,
            found,
        })
    }

    /// Names the file, unless one is named already.
    #[cold]
    #[must_use]
    pub fn in_path(mut self, path: &Path) -> Self {
        self.0.path.get_or_insert_with(|| path.to_path_buf());
        self
    }

    /// Names the archive entry, unless one is named already.
    #[cold]
    #[must_use]
    pub fn in_entry(mut self, entry: &str) -> Self {
        self.0.entry.get_or_insert_with(|| entry.to_owned());
        self
    }

    /// Names the tensor, unless one is named already.
    #[cold]
    #[must_use]
    pub fn in_tensor(mut self, tensor: &str) -> Self {
        self.0.tensor.get_or_insert_with(|| tensor.to_owned());
        self
    }

    /// States the offset, unless one is stated already.
    #[cold]
    pub(crate) fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Moves the offset from the start of a part to the start of the whole that it is in, unless
    /// there is none or it was moved before.
    #[cold]
    pub(crate) fn shifted(mut self, start: u64) -> Self {
        if let Some(offset) = self.0.offset
            && !self.0.is_shifted
        {
            self.0.offset = Some(offset.saturating_add(start));
            self.0.is_shifted = true;
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shorten(&self.0.kind.to_string(), CAUSE_BYTES))?;
        let mut separator = " (";
        if let Some(tensor) = self.tensor() {
            write!(f, "{separator}tensor `{}`", shorten(tensor, NAME_BYTES))?;
            separator = ", ";
        }
        if let Some(entry) = self.entry() {
            write!(f, "{separator}entry `{}`", shorten(entry, NAME_BYTES))?;
            separator = ", ";
        }
        if let Some(offset) = self.offset() {
            write!(f, "{separator}offset {offset:#x}")?;
            separator = ", ";
        }
        if let Some(path) = self.path() {
            write!(f, "{separator}file `{}`", path.display())?;
            separator = ", ";
        }
        if separator == ", " {
            f.write_str(")")
        } else {
            Ok(())
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.kind {
            ErrorKind::Io(error) => Some(error),
            #[cfg(feature = "nnx")]
            ErrorKind::InvalidConfiguration(error) => Some(error),
            _ => None,
        }
    }
}

/// For those who implement a [`Folder`](crate::Folder) or a [`RangeRead`](crate::RangeRead).
impl From<ErrorKind> for Error {
    #[cold]
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}

impl From<std::io::Error> for Error {
    #[cold]
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::new(ErrorKind::NotFound),
            _ => Self::new(ErrorKind::Io(error)),
        }
    }
}

#[cfg(feature = "nnx")]
impl From<nnx_params::Error> for Error {
    #[cold]
    fn from(error: nnx_params::Error) -> Self {
        Self::new(ErrorKind::InvalidConfiguration(error))
    }
}
