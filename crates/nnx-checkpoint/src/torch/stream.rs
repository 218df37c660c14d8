//! Pickles and raw bytes one behind the other.

use bytes::Bytes;

use super::opening::Opening;
use crate::error::{Error, Result};
use crate::pickle::Graph;

/// A position in bytes that hold pickles and raw numbers by turns.
pub(super) struct Stream<'a> {
    bytes: &'a Bytes,
    /// Where the next piece begins.
    position: usize,
    /// The entry of an archive that the bytes fill, if they do.
    entry: Option<&'a str>,
}

impl<'a> Stream<'a> {
    /// The start of the bytes.
    pub(super) fn new(bytes: &'a Bytes, entry: Option<&'a str>) -> Self {
        Self {
            bytes,
            position: 0,
            entry,
        }
    }

    /// Where the next piece begins.
    pub(super) fn position(&self) -> u64 {
        self.position as u64
    }

    /// Bytes that have not been read.
    pub(super) fn rest(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    /// An error at a place in these bytes.
    #[cold]
    pub(super) fn error(&self, what: impl Into<String>, at: u64) -> Error {
        self.placed(Error::malformed(what), at)
    }

    /// An error with a place in these bytes.
    #[cold]
    pub(super) fn placed(&self, error: Error, at: u64) -> Error {
        let error = error.at(at);
        match self.entry {
            Some(entry) => error.in_entry(entry),
            None => error,
        }
    }

    /// The next pickle and where it begins.
    pub(super) fn pickle(&mut self, opening: &mut Opening) -> Result<(Graph, u64)> {
        let start = self.position;
        let rest = self.bytes.get(start..).unwrap_or_default();
        let (graph, consumed) = opening.pickle(rest, self.entry, start as u64)?;
        self.position = start.saturating_add(consumed);
        Ok((graph, start as u64))
    }

    /// The next bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<Bytes> {
        let end = self.position.saturating_add(count);
        if end > self.bytes.len() {
            return Err(self.error(
                format!("the file ends within {count} bytes that begin here"),
                self.position(),
            ));
        }
        let taken = self.bytes.slice(self.position..end);
        self.position = end;
        Ok(taken)
    }

    /// The next 64-bit number, little-endian.
    pub(super) fn i64(&mut self) -> Result<i64> {
        let bytes = self.take(8)?;
        Ok(i64::from_le_bytes(
            bytes.as_ref().try_into().unwrap_or_default(),
        ))
    }
}
