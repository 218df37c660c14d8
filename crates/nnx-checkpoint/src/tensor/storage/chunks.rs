//! Storages in several ranges.

use crate::error::{Error, Result};
use crate::source::ByteRange;

/// A range of bytes, and where in a storage they go.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The byte of the storage that is the first one of the range.
    pub to: u64,
    /// The bytes.
    pub range: ByteRange,
}

/// The ranges in the order of the storage, which they fill without a gap.
///
/// # Errors
/// When they leave a gap, overlap, or end before or behind byte `byte_len`.
pub(super) fn in_order(byte_len: u64, mut chunks: Vec<Chunk>) -> Result<Vec<ByteRange>> {
    // Where two begin at one byte, all but the last one must be empty.
    chunks.sort_by_key(|chunk| (chunk.to, chunk.range.byte_len()));
    let mut end = 0u64;
    for chunk in &chunks {
        if chunk.to != end {
            return Err(Error::malformed(format!(
                "expected the next chunk of a storage at byte {end}, found one at byte {}",
                chunk.to
            )));
        }
        end = end.saturating_add(chunk.range.byte_len());
    }
    if end != byte_len {
        return Err(Error::malformed(format!(
            "expected chunks of {byte_len} bytes together, found {end} bytes"
        )));
    }
    Ok(chunks.into_iter().map(|chunk| chunk.range).collect())
}
