//! The report of a conversion.

use std::path::PathBuf;

use crate::{Format, NonTensorEntry};

/// The report of a conversion, or of a dry run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Conversion {
    /// The format of the source.
    pub source: Format,
    /// The format of the target.
    pub target: Format,
    /// The files that were written, and the index among them, with the bytes of each.
    pub files: Vec<(PathBuf, u64)>,
    /// Names under which tensors were written.
    pub tensors: usize,
    /// Bytes of all tensors as they were written.
    pub tensor_bytes: u64,
    /// Tensors that were cast to another dtype.
    pub cast: usize,
    /// Values that were left out on request.
    pub dropped: Vec<NonTensorEntry>,
    /// Metadata keys that were left out on request.
    pub dropped_metadata: Vec<String>,
    /// Notes for the user, such as names that became aliases.
    pub notes: Vec<String>,
}

/// How far a conversion is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes that were written, and with [`verify`](super::ConvertOptions::verify) read again.
    pub done: u64,
    /// Bytes that will be when all is done.
    pub total: u64,
}
