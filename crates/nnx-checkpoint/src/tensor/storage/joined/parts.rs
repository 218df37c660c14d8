//! Handing on the bytes of a whole.

use crate::error::Result;
use crate::source::CHUNK_BYTES;

/// Runs from this size on are handed on as they are.
const LARGE_RUN: usize = 256 << 10;

/// Collects runs into pieces of some size.
pub(super) struct Pieces<'a> {
    each: &'a mut dyn FnMut(&[u8]) -> Result<()>,
    waiting: Vec<u8>,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(each: &'a mut dyn FnMut(&[u8]) -> Result<()>) -> Self {
        Self {
            each,
            waiting: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<()> {
        if self.waiting.is_empty() && bytes.len() >= LARGE_RUN {
            return (self.each)(bytes);
        }
        if self.waiting.len().saturating_add(bytes.len()) > CHUNK_BYTES {
            self.flush()?;
        }
        self.waiting.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if !self.waiting.is_empty() {
            (self.each)(&self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()
    }
}
