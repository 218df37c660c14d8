//! Where the elements of a chunk are.

use super::super::Storage;
use crate::Tensor;
use crate::error::Result;
use crate::source::ByteRange;

/// Where the elements of a chunk come from.
pub(super) enum Elements {
    /// They are in a file in their order.
    Stored(StoredRange),
    /// They have to be gathered, inflated or conjugated.
    Tensor(Tensor),
}

/// Bytes in a file, and what compares them with their checksum.
pub(crate) struct StoredRange {
    pub(crate) range: ByteRange,
    /// The storage whose checksum is that of the range; none where nothing is to be compared.
    checked_by: Option<Storage>,
}

impl StoredRange {
    /// Whether there is a checksum to compare the bytes with.
    pub(super) fn is_checked(&self) -> bool {
        self.checked_by.is_some()
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
}

impl Elements {
    pub(super) fn new(tensor: Tensor) -> Result<Self> {
        let storage = tensor.storage();
        let is_plain = tensor.is_contiguous() && !tensor.is_conj() && !tensor.is_neg();
        let Some(range) = storage.verbatim()?.filter(|_| is_plain) else {
            return Ok(Self::Tensor(tensor));
        };
        let bytes = tensor.byte_range();
        if bytes.len() as u64 == range.byte_len() {
            let checked_by = storage.has_checksum().then(|| storage.clone());
            return Ok(Self::Stored(StoredRange { range, checked_by }));
        }
        // The checksum is that of more than is read here.
        storage.verify(&range)?;
        Ok(Self::Stored(StoredRange {
            range: range.slice(bytes.start as u64, bytes.len() as u64)?,
            checked_by: None,
        }))
    }
}
