//! A bounded cache in front of bytes that are far away.

mod blocks;
mod read_ahead;

use std::fmt;
use std::sync::Arc;
use std::thread;

use self::blocks::Blocks;
use self::read_ahead::ReadAhead;
use super::RangeRead;
use crate::error::{Error, Result};

/// Reads of fewer bytes are served from blocks.
const SMALL_BYTES: usize = 256 << 10;
/// Bytes of one request of a large read.
const PART_BYTES: usize = 4 << 20;
/// Requests of one large read that are in flight.
const IN_FLIGHT: usize = 8;

/// Bytes that are read over a network, with few requests and bounded memory:
///
/// - Small reads are joined: they are served from blocks of 64 KiB, of which the last 4 MiB are kept,
///   and blocks that are missing side by side are one request.
/// - A large read is several requests of 4 MiB, up to eight of them at a time.
/// - Who reads on where a large read ended gets the next bytes while the ones before are used: up to
///   16 MiB ahead, at up to three places of the source at a time.
///
/// ```
/// use std::sync::Arc;
///
/// use bytes::Bytes;
/// use nnx_checkpoint::{CachedRange, RangeRead};
///
/// let source: Arc<dyn RangeRead> = Arc::new(Bytes::from_static(b"abcdef"));
/// let cached = CachedRange::new(source);
/// let mut bytes = [0; 3];
/// cached.read_at(2, &mut bytes)?;
/// assert_eq!(&bytes, b"cde");
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
pub struct CachedRange {
    source: Arc<dyn RangeRead>,
    len: u64,
    blocks: Blocks,
    read_ahead: ReadAhead,
}

impl CachedRange {
    /// A cache in front of a source, each of whose reads is a request.
    pub fn new(source: Arc<dyn RangeRead>) -> Self {
        Self {
            len: source.byte_len(),
            source,
            blocks: Blocks::default(),
            read_ahead: ReadAhead::default(),
        }
    }

    /// Puts the first bytes of the source into the cache: whoever opened it got them with its
    /// length.
    #[must_use]
    pub fn with_start(self, bytes: &[u8]) -> Self {
        self.blocks.put_start(bytes, self.len);
        self
    }
}

impl RangeRead for CachedRange {
    fn byte_len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(into.len() as u64);
        if end.is_none_or(|end| end > self.len) {
            return Err(Error::malformed("a range reaches past the last byte"));
        }
        let is_small = into.len() < SMALL_BYTES;
        let filled = self
            .read_ahead
            .read(&self.source, offset, into, self.len, is_small);
        let next = offset.saturating_add(into.len() as u64);
        let offset = offset.saturating_add(filled.unwrap_or(0) as u64);
        let into = into.get_mut(filled.unwrap_or(0)..).unwrap_or_default();
        if is_small {
            return self.blocks.read(&*self.source, offset, into, self.len);
        }
        read_in_parts(&*self.source, offset, into)?;
        if filled.is_none() {
            self.read_ahead.start(next);
        }
        Ok(())
    }
}

/// Reads many bytes, several requests at a time.
fn read_in_parts(source: &dyn RangeRead, offset: u64, into: &mut [u8]) -> Result<()> {
    let mut at = offset;
    for group in into.chunks_mut(PART_BYTES.saturating_mul(IN_FLIGHT)) {
        let group_len = group.len() as u64;
        if group.len() <= PART_BYTES {
            source.read_at(at, group)?;
        } else {
            thread::scope(|scope| {
                let mut start = at;
                let mut parts = Vec::new();
                for part in group.chunks_mut(PART_BYTES) {
                    let part_start = start;
                    start = start.saturating_add(part.len() as u64);
                    parts.push(scope.spawn(move || source.read_at(part_start, part)));
                }
                parts.into_iter().try_for_each(|part| match part.join() {
                    Ok(read) => read,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
            })?;
        }
        at = at.saturating_add(group_len);
    }
    Ok(())
}

impl fmt::Debug for CachedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedRange")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
