//! Handing on the bytes of a whole.

use super::super::{StoragePart, StoredRange};
use crate::error::Result;
use crate::source::CHUNK_BYTES;

/// Runs from this size on are handed on as they are.
const LARGE_RUN: usize = 256 << 10;

/// Collects runs into parts of some size.
pub(super) struct Parts<'a> {
    each: &'a mut dyn FnMut(StoragePart<'_>) -> Result<()>,
    waiting: Vec<u8>,
}

impl<'a> Parts<'a> {
    pub(super) fn new(each: &'a mut dyn FnMut(StoragePart<'_>) -> Result<()>) -> Self {
        Self {
            each,
            waiting: Vec::new(),
        }
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() >= LARGE_RUN {
            self.flush()?;
            return (self.each)(StoragePart::Bytes(bytes));
        }
        if self.waiting.len().saturating_add(bytes.len()) > CHUNK_BYTES {
            self.flush()?;
        }
        self.waiting.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn put_range(&mut self, stored: &StoredRange) -> Result<()> {
        self.flush()?;
        (self.each)(StoragePart::Stored(stored))
    }

    fn flush(&mut self) -> Result<()> {
        if !self.waiting.is_empty() {
            (self.each)(StoragePart::Bytes(&self.waiting))?;
            self.waiting.clear();
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_run_behind_a_small_one_is_not_copied() {
        let large = vec![7; 3 * CHUNK_BYTES];
        let mut seen = Vec::new();
        let mut each = |part: StoragePart<'_>| {
            if let StoragePart::Bytes(bytes) = part {
                seen.push((bytes.len(), bytes.as_ptr() == large.as_ptr()));
            }
            Ok(())
        };
        let mut parts = Parts::new(&mut each);
        parts.put(&[1; 10]).unwrap();
        parts.put(&[2; 10]).unwrap();
        parts.put(&large).unwrap();
        parts.put(&[3; 10]).unwrap();
        parts.finish().unwrap();
        assert_eq!(seen, [(20, false), (large.len(), true), (10, false)]);
    }
}
