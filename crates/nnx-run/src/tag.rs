//! The name of a checkpoint within its run.

use std::fmt;
use std::str::FromStr;

use nnx_params::Checkpoints;

use crate::error::{Error, ErrorKind, Result, shown};

/// The maximum length of a tag in bytes. The longest name made from a tag, that of the temporary file
/// of a training state, then has at most 255 bytes.
const MAX_BYTES: usize = 200;

/// A text that the name of a checkpoint's file must not contain: it marks training states.
const STATE_MARK: &str = ".pt.opt.";

/// The name of a checkpoint within its run: `last`, `best`, one of the phases, or the tag of a
/// callback and its epoch (`every_e3`).
///
/// NNx checks the tags that its callbacks are given, but not the tags of checkpoints to load. Here
/// every tag is safe as the name of a file.
///
/// ```
/// use nnx_params::Checkpoints;
/// use nnx_run::CheckpointTag;
///
/// assert_eq!(CheckpointTag::from(Checkpoints::Last).as_str(), "last");
/// assert!("every_e3".parse::<CheckpointTag>().is_ok());
/// assert!("../last".parse::<CheckpointTag>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckpointTag(String);

impl CheckpointTag {
    /// A tag of ASCII letters, digits, `.`, `_` and `-` that starts with a letter or digit.
    ///
    /// # Errors
    /// For any other text, for one of more than 200 bytes, and for one whose file would have `.pt.opt.`
    /// in its name, which marks training states.
    pub fn new(tag: &str) -> Result<Self> {
        let is_slug = tag.starts_with(|c: char| c.is_ascii_alphanumeric())
            && tag
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
        if !is_slug || tag.len() > MAX_BYTES || format!("{tag}.pt").contains(STATE_MARK) {
            return Err(Error::new(ErrorKind::InvalidTag { tag: shown(tag) }));
        }
        Ok(Self(tag.to_owned()))
    }

    /// The tag as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The tag of a checkpoint, from the name of its file; `None` for the name of another file.
    pub(crate) fn from_file_name(name: &str) -> Option<Self> {
        Self::new(name.strip_suffix(".pt")?).ok()
    }

    /// The name of the checkpoint's file.
    pub(crate) fn file_name(&self) -> String {
        format!("{}.pt", self.0)
    }
}

impl From<Checkpoints> for CheckpointTag {
    fn from(checkpoint: Checkpoints) -> Self {
        Self(checkpoint.value().to_owned())
    }
}

impl FromStr for CheckpointTag {
    type Err = Error;

    fn from_str(tag: &str) -> Result<Self> {
        Self::new(tag)
    }
}

impl fmt::Display for CheckpointTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
