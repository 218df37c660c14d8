//! Bytes in a source as they are, and the checksum that their file states.

use super::Storage;
use crate::error::Result;
use crate::source::ByteRange;

/// Bytes in a source, and what compares them with their checksum.
#[derive(Clone, Debug)]
pub(crate) struct StoredRange {
    pub(crate) range: ByteRange,
    /// The storage whose checksum is that of the range; none where nothing is to be compared.
    checked_by: Option<Storage>,
}

impl StoredRange {
    /// A range of which nothing is to be compared.
    pub(super) fn new(range: ByteRange) -> Self {
        let checked_by = None;
        Self { range, checked_by }
    }

    /// The range that is all of a storage.
    pub(super) fn from_storage(range: ByteRange, storage: &Storage) -> Self {
        let checked_by = storage.checksum().is_some().then(|| storage.clone());
        Self { range, checked_by }
    }

    /// The CRC-32 that the file states of the bytes, and with which nobody compared them yet.
    pub(crate) fn checksum(&self) -> Option<u32> {
        self.checked_by.as_ref()?.checksum()
    }

    /// Compares the checksum of the bytes as somebody read them with the one that their file states,
    /// if it states one.
    ///
    /// # Errors
    /// When they differ.
    pub(crate) fn compare(&self, found: u32) -> Result<()> {
        match &self.checked_by {
            Some(storage) => storage.compare(found),
            None => Ok(()),
        }
    }

    /// Gives the bytes piece by piece. A checksum is compared at the end.
    ///
    /// # Errors
    /// When they cannot be read, do not have their checksum, or `each` fails.
    pub(super) fn chunks(&self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if self.checksum().is_none() {
            return self.range.chunks(each);
        }
        let mut hasher = crc32fast::Hasher::new();
        self.range.chunks(&mut |chunk| {
            hasher.update(chunk);
            each(chunk)
        })?;
        self.compare(hasher.finalize())
    }
}
