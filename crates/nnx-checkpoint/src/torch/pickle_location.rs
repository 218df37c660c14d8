//! Where in a file the pickle of an object is.

use crate::error::Error;

/// The part of the file from which the offsets of a graph are counted.
#[derive(Clone, Debug, Default)]
pub(super) struct PickleLocation {
    /// The archive entry that the pickle fills, if it fills one.
    entry: Option<String>,
    /// The byte of that entry, or of the file, where the pickle begins.
    start: u64,
}

impl PickleLocation {
    /// A pickle that begins at byte `start` of an entry, or of the file.
    pub(super) fn new(entry: Option<&str>, start: u64) -> Self {
        Self {
            entry: entry.map(str::to_owned),
            start,
        }
    }

    /// An error whose offset counts from the start of the pickle, as one of the entry or the file.
    /// One that names an entry, or was located before, stays as it is.
    #[cold]
    pub(super) fn locate(&self, error: Error) -> Error {
        if error.entry().is_some() {
            return error;
        }
        let error = error.shifted(self.start);
        match &self.entry {
            Some(entry) => error.in_entry(entry),
            None => error,
        }
    }
}
