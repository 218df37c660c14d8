//! The name of a repository.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result, shown};

/// The name of a repository by the Hub's rules: `owner/name` or `name`.
///
/// ```
/// use nnx_hub::RepoId;
///
/// assert!(RepoId::parse("owner/my-model_1.0").is_ok());
/// for wrong in ["a/b/c", "a--b", "../x", "", "a/.b", "a/b.git", "a b"] {
///     assert!(RepoId::parse(wrong).is_err(), "{wrong}");
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepoId(String);

/// The longest name.
const MAX_CHARACTERS: usize = 96;

impl RepoId {
    /// Checks a name.
    ///
    /// # Errors
    /// [`ErrorKind::RepoId`] with the rule that it breaks.
    pub fn parse(id: &str) -> Result<Self> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let parts: Vec<&str> = id.split('/').collect();
        let why = if parts.len() > 2 {
            "it must be `owner/name` or `name`"
        } else if parts.iter().any(|part| part.is_empty()) {
            "neither owner nor name may be empty"
        } else if !parts.iter().all(|part| part.chars().all(allowed)) {
            "only letters, digits, `-`, `_` and `.` are allowed"
        } else if parts
            .iter()
            .any(|part| part.starts_with(['-', '.']) || part.ends_with(['-', '.']))
        {
            "no part may begin or end with `-` or `.`"
        } else if parts.last().is_some_and(|name| name.len() > MAX_CHARACTERS) {
            "a name has at most 96 characters"
        } else if id.contains("--") || id.contains("..") {
            "`--` and `..` are not allowed"
        } else if id.ends_with(".git") {
            "it may not end in `.git`"
        } else {
            return Ok(Self(id.to_owned()));
        };
        Err(Error::from(ErrorKind::RepoId { id: shown(id), why }))
    }

    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The owner, if the name has one.
    pub fn owner(&self) -> Option<&str> {
        self.0.split_once('/').map(|(owner, _)| owner)
    }

    /// The name without its owner.
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }
}

impl FromStr for RepoId {
    type Err = Error;

    /// # Errors
    /// As for [`parse`](Self::parse).
    fn from_str(id: &str) -> Result<Self> {
        Self::parse(id)
    }
}

impl fmt::Display for RepoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
