//! Where the elements of a chunk are.

use super::super::StoredRange;
use crate::Tensor;
use crate::error::Result;

/// Where the elements of a chunk come from.
pub(super) enum Elements {
    /// They are in a file in their order.
    Stored(StoredRange),
    /// They have to be gathered, inflated or conjugated.
    Tensor(Tensor),
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
            return Ok(Self::Stored(StoredRange::from_storage(range, storage)));
        }
        // The checksum is that of more than is read here.
        storage.verify(&range)?;
        let part = range.slice(bytes.start as u64, bytes.len() as u64)?;
        Ok(Self::Stored(StoredRange::new(part)))
    }
}
