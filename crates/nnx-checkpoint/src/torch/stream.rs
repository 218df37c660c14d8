//! Pickles and raw bytes one behind the other.

use bytes::Bytes;

use super::load_context::LoadContext;
use crate::error::{Error, Result};
use crate::pickle::{self, Graph};
use crate::source::ByteRange;

/// Bytes that are read for a pickle whose length is not known, at first.
const FIRST_BYTES: u64 = 64 << 10;

/// A position in bytes that hold pickles and raw numbers by turns.
pub(super) struct Stream<'a> {
    bytes: &'a ByteRange,
    /// Where the next piece begins.
    position: u64,
    /// The entry of an archive that the bytes fill, if they do.
    entry: Option<&'a str>,
}

impl<'a> Stream<'a> {
    /// The start of the bytes.
    pub(super) fn new(bytes: &'a ByteRange, entry: Option<&'a str>) -> Self {
        Self {
            bytes,
            position: 0,
            entry,
        }
    }

    /// Where the next piece begins.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Bytes that have not been read.
    pub(super) fn rest(&self) -> u64 {
        self.bytes.byte_len().saturating_sub(self.position)
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
    pub(super) fn pickle(&mut self, context: &mut LoadContext) -> Result<(Graph, u64)> {
        let start = self.position;
        let bytes = self.program(context.limits.max_pickle_bytes)?;
        let (graph, consumed) = context.pickle(&bytes, self.entry, start)?;
        self.position = start.saturating_add(consumed as u64);
        Ok((graph, start))
    }

    /// The bytes of the next pickle, and some that follow it. Nothing says how long it is: if the
    /// bytes are not in memory anyway, twice as many are read until it ends within them, so that
    /// large storages behind a small pickle are not read with it.
    ///
    /// # Errors
    /// When the bytes cannot be read.
    fn program(&self, limit: u64) -> Result<Bytes> {
        if self.bytes.is_mapped() {
            return self.bytes.read_up_to(self.position, self.rest());
        }
        // One byte more than the limit tells that it is passed.
        let all = self.rest().min(limit.saturating_add(1));
        let mut most = FIRST_BYTES;
        loop {
            let bytes = self.bytes.read_up_to(self.position, most.min(all))?;
            if most >= all || pickle::ends_within(&bytes) {
                return Ok(bytes);
            }
            most = most.saturating_mul(2);
        }
    }

    /// Where the next bytes are.
    pub(super) fn take(&mut self, count: usize) -> Result<ByteRange> {
        let taken = self.bytes.slice(self.position, count as u64).map_err(|_| {
            self.error(
                format!("the file ends within {count} bytes that begin here"),
                self.position(),
            )
        })?;
        self.position = self.position.saturating_add(count as u64);
        Ok(taken)
    }

    /// The next 64-bit number, little-endian.
    pub(super) fn i64(&mut self) -> Result<i64> {
        let bytes = self.take(8)?.bytes()?;
        Ok(i64::from_le_bytes(
            bytes.as_ref().try_into().unwrap_or_default(),
        ))
    }
}
