//! The error of a command.

use std::fmt::Write as _;
use std::path::Path;

use nnx::checkpoint::Error;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// The error of a command that would replace a file without `--overwrite`.
pub(crate) const TARGET_EXISTS: &str =
    "the target exists; give `--overwrite` to replace it, or choose another name";

/// An error for a person or a script. It is one pointer wide, so that results stay small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    /// A stable name: those of `nnx::checkpoint::ErrorKind`, and `usage`.
    kind: &'static str,
    /// The message, without the location.
    what: String,
    offset: Option<u64>,
    entry: Option<String>,
    tensor: Option<String>,
    path: Option<String>,
}

impl Failure {
    pub(crate) fn new(kind: &'static str, what: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            what: what.into(),
            offset: None,
            entry: None,
            tensor: None,
            path: None,
        }))
    }

    /// An error in the arguments.
    pub(crate) fn usage(what: &str) -> Self {
        Self::new("usage", format!("{what}; see `nnx --help`"))
    }

    /// Returns an error if the target exists, unless it may be replaced.
    ///
    /// # Errors
    /// When the path exists.
    pub(crate) fn if_exists(target: &Path, overwrite: bool) -> Result<(), Self> {
        if overwrite || target.symlink_metadata().is_err() {
            return Ok(());
        }
        Err(Self::new("target_exists", TARGET_EXISTS).in_path(target))
    }

    /// A command or a path that needs a feature which this build does not have.
    #[cfg(not(all(
        feature = "net",
        feature = "run",
        feature = "hub",
        feature = "store",
        feature = "train"
    )))]
    pub(crate) fn missing_feature(what: &str, needs: &str, feature: &str) -> Self {
        let remedy = match feature {
            // It is not a default feature.
            "store" => String::new(),
            _ => "its default features, or with ".to_owned(),
        };
        Self::new(
            "unsupported",
            format!(
                "{what} needs {needs}: install the command with {remedy}the feature `{feature}`"
            ),
        )
    }

    /// The same kind and location with another message.
    pub(crate) fn saying(mut self, what: String) -> Self {
        self.0.what = what;
        self
    }

    /// Sets the tensor, unless one is set already.
    pub(crate) fn in_tensor(mut self, tensor: &str) -> Self {
        self.0.tensor.get_or_insert_with(|| tensor.to_owned());
        self
    }

    /// Sets the archive entry. An entry that is set already is within the new one.
    pub(crate) fn in_entry(mut self, entry: &str) -> Self {
        self.0.entry = Some(entry.to_owned());
        self
    }

    /// Sets the file, unless one is set already.
    pub(crate) fn in_path(mut self, path: &Path) -> Self {
        self.0
            .path
            .get_or_insert_with(|| path.display().to_string());
        self
    }

    /// Changes the offset.
    pub(crate) fn at(mut self, offset: Option<u64>) -> Self {
        self.0.offset = offset;
        self
    }

    /// The message and the location, in one sentence.
    pub(crate) fn message(&self) -> String {
        let places = [
            self.0
                .tensor
                .as_ref()
                .map(|name| format!("tensor `{name}`")),
            self.0.entry.as_ref().map(|name| format!("entry `{name}`")),
            self.0.offset.map(|offset| format!("offset {offset:#x}")),
            self.0.path.as_ref().map(|path| format!("file `{path}`")),
        ];
        let places: Vec<String> = places.into_iter().flatten().collect();
        let mut message = self.0.what.clone();
        if !places.is_empty() {
            // Writing to a `String` cannot fail.
            let _ = write!(message, " ({})", places.join(", "));
        }
        message
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(Box::new(Inner {
            kind: error.kind().name(),
            what: error.kind().to_string(),
            offset: error.offset(),
            entry: error.entry().map(ToOwned::to_owned),
            tensor: error.tensor().map(ToOwned::to_owned),
            path: error.path().map(|path| path.display().to_string()),
        }))
    }
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Failure", 5)?;
        object.serialize_field("kind", self.0.kind)?;
        object.serialize_field("message", &self.message())?;
        object.serialize_field("offset", &self.0.offset)?;
        object.serialize_field("entry", &self.0.entry)?;
        object.serialize_field("tensor", &self.0.tensor)?;
        object.end()
    }
}
