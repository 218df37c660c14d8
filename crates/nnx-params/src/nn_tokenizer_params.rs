//! Where a model's tokenizer lies.

use crate::fields::{Fields, keeps_unknown, split_state};
use crate::{Result, State};

/// Where a model's tokenizer lies; opening the file is left to the caller.
///
/// ```
/// use nnx_params::NNTokenizerParams;
///
/// assert_eq!(NNTokenizerParams::new("runs/tok.json").path(), "runs/tok.json");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NNTokenizerParams {
    path: String,
    unknown: State,
}

impl NNTokenizerParams {
    /// The Python class.
    pub const CLASS: &'static str = "NNTokenizerParams";

    /// The fields that are stored; Python's class also holds the open tokenizer.
    pub const FIELDS: &'static [&'static str] = &["path"];

    /// The tokenizer at a path, relative to the working directory as a rule.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            unknown: State::new(),
        }
    }

    /// Builds from the constructor's arguments.
    ///
    /// # Errors
    ///
    /// The path is missing or no text, or another field is given.
    pub fn from_fields(fields: &State) -> Result<Self> {
        Fields::new(Self::CLASS, fields, Self::FIELDS)?
            .text("path")
            .map(Self::new)
    }

    /// Builds from what [`state`](Self::state) returns.
    ///
    /// # Errors
    ///
    /// The path is missing or no text.
    pub fn from_state(state: &State) -> Result<Self> {
        let (known, unknown) = split_state(Self::CLASS, state, Self::FIELDS, &[])?;
        let mut params = Self::from_fields(&known)?;
        params.unknown = unknown;
        Ok(params)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        State::from_iter([("path", self.path.as_str())])
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown).
    pub fn full_state(&self) -> State {
        self.state().followed_by(&self.unknown)
    }

    keeps_unknown!();

    /// The path as it was given.
    pub fn path(&self) -> &str {
        &self.path
    }
}
