//! Bytes that are read by range, wherever they are.

use std::fmt;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::Source;
use crate::error::{Error, Result};

/// Bytes that are read at a time where a whole is not needed at once.
pub(crate) const CHUNK_BYTES: usize = 1 << 20;

/// The one way to bytes: a file, memory, or an object that is read over a network.
///
/// A checkpoint opens over anything that implements this, and reads only the ranges that it needs:
/// an archive's directory, a header, a pickle, and a storage when it is asked for. Reading is
/// blocking. Bytes that were read once must not change while the reader lives.
///
/// ```
/// use nnx_checkpoint::{CheckpointReader, OpenOptions, RangeRead, Result};
///
/// /// Bytes that arrive from elsewhere.
/// #[derive(Debug)]
/// struct Remote(Vec<u8>);
///
/// impl RangeRead for Remote {
///     fn byte_len(&self) -> u64 {
///         self.0.len() as u64
///     }
///
///     fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
///         let start = offset as usize;
///         into.copy_from_slice(&self.0[start..start + into.len()]);
///         Ok(())
///     }
/// }
///
/// // pickle.dumps({}, 2)
/// let remote = Remote(b"\x80\x02}q\x00.".to_vec());
/// let reader = CheckpointReader::from_range(remote, &OpenOptions::default())?;
/// assert!(reader.tensors().is_empty());
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
pub trait RangeRead: fmt::Debug + Send + Sync {
    /// How many bytes there are.
    fn byte_len(&self) -> u64;

    /// Fills `into` with the bytes from `offset` on. The caller stays within
    /// [`byte_len`](Self::byte_len).
    ///
    /// # Errors
    /// When the bytes cannot be read.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()>;

    /// All bytes as memory, where they are in memory or mapped into it: ranges of them are shared
    /// then, not copied.
    fn map(&self) -> Option<&Bytes> {
        None
    }

    /// The open file that holds exactly these bytes, where there is one: the system can copy from
    /// one file to another without a look at the bytes.
    fn file(&self) -> Option<&File> {
        None
    }
}

impl RangeRead for Bytes {
    fn byte_len(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        let start = usize::try_from(offset).ok();
        let bytes = start.and_then(|start| self.get(start..start.checked_add(into.len())?));
        into.copy_from_slice(bytes.ok_or_else(past_the_end)?);
        Ok(())
    }

    fn map(&self) -> Option<&Bytes> {
        Some(self)
    }
}

#[cold]
fn past_the_end() -> Error {
    Error::malformed("a range reaches past the last byte")
}

/// A run of bytes of a source. Cheap to clone; nothing is read before it is asked for.
///
/// ```
/// use nnx_checkpoint::ByteRange;
///
/// let range = ByteRange::from(bytes::Bytes::from_static(b"abcdef")).slice(1, 4)?;
/// assert_eq!(range.byte_len(), 4);
/// assert_eq!(range.bytes()?, "bcde");
/// # Ok::<(), nnx_checkpoint::Error>(())
/// ```
#[derive(Clone)]
pub struct ByteRange {
    source: Arc<dyn RangeRead>,
    start: u64,
    len: u64,
}

impl ByteRange {
    /// All bytes of a source.
    pub fn new(source: Arc<dyn RangeRead>) -> Self {
        let len = source.byte_len();
        Self {
            source,
            start: 0,
            len,
        }
    }

    /// How many bytes there are.
    pub fn byte_len(&self) -> u64 {
        self.len
    }

    /// The `len` bytes from `start` on.
    ///
    /// # Errors
    /// When they are not all there.
    pub fn slice(&self, start: u64, len: u64) -> Result<Self> {
        if start.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(past_the_end());
        }
        Ok(Self {
            source: Arc::clone(&self.source),
            start: self.start.saturating_add(start),
            len,
        })
    }

    /// All bytes: shared where the source has them in memory, else read.
    ///
    /// # Errors
    /// When the source cannot be read, or there is no memory for so many bytes.
    pub fn bytes(&self) -> Result<Bytes> {
        self.mapped().unwrap_or_else(|| self.read())
    }

    /// All bytes: read where they are in a file, although it may be mapped (see
    /// [`chunks`](Self::chunks)).
    ///
    /// # Errors
    /// As for [`bytes`](Self::bytes).
    pub(crate) fn copied(&self) -> Result<Bytes> {
        if self.source.file().is_some() {
            self.read()
        } else {
            self.bytes()
        }
    }

    fn read(&self) -> Result<Bytes> {
        let none = || Error::unsupported(format!("no memory for {} bytes", self.len));
        let len = usize::try_from(self.len).map_err(|_| none())?;
        let mut all = Vec::new();
        all.try_reserve_exact(len).map_err(|_| none())?;
        all.resize(len, 0);
        self.source.read_at(self.start, &mut all)?;
        Ok(all.into())
    }

    /// Fills `into` with the bytes from `start` on.
    ///
    /// # Errors
    /// When they are not all there, or the source cannot be read.
    pub(crate) fn read_at(&self, start: u64, into: &mut [u8]) -> Result<()> {
        let part = self.slice(start, into.len() as u64)?;
        part.source.read_at(part.start, into)
    }

    /// The bytes from `start` to the end of the range, up to `most` of them.
    ///
    /// # Errors
    /// As for [`bytes`](Self::bytes).
    pub(crate) fn read_up_to(&self, start: u64, most: u64) -> Result<Bytes> {
        let start = start.min(self.len);
        let len = most.min(self.len.saturating_sub(start));
        self.slice(start, len)?.bytes()
    }

    /// Whether the bytes are in memory, or mapped into it.
    pub(crate) fn is_mapped(&self) -> bool {
        self.source.map().is_some()
    }

    fn mapped(&self) -> Option<Result<Bytes>> {
        let map = self.source.map()?;
        let range = self.range_of_map().filter(|range| range.end <= map.len());
        Some(range.map(|range| map.slice(range)).ok_or_else(past_the_end))
    }

    fn range_of_map(&self) -> Option<Range<usize>> {
        let start = usize::try_from(self.start).ok()?;
        Some(start..start.checked_add(usize::try_from(self.len).ok()?)?)
    }

    /// The open file that the bytes are in, and where they begin.
    pub(crate) fn in_file(&self) -> Option<(&File, u64)> {
        Some((self.source.file()?, self.start))
    }

    /// A pair of numbers that tells the first byte: equal for ranges of one source that begin
    /// there.
    pub(crate) fn data_ptr(&self) -> (usize, u64) {
        (Arc::as_ptr(&self.source).addr(), self.start)
    }

    /// Reads the bytes piece by piece. Those of a file are read into one piece of memory, although
    /// they may be mapped: bytes that are read so do not count as memory of this process.
    ///
    /// # Errors
    /// When the source cannot be read, or `each` fails.
    pub(crate) fn chunks(&self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if self.source.file().is_none()
            && let Some(bytes) = self.mapped()
        {
            return bytes?.chunks(CHUNK_BYTES).try_for_each(each);
        }
        let first = usize::try_from(self.len).map_or(CHUNK_BYTES, |len| len.min(CHUNK_BYTES));
        let mut memory = vec![0; first];
        let (mut at, mut left) = (self.start, self.len);
        while left > 0 {
            let now = usize::try_from(left).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
            let chunk = memory.get_mut(..now).unwrap_or_default();
            self.source.read_at(at, chunk)?;
            each(chunk)?;
            at = at.saturating_add(now as u64);
            left = left.saturating_sub(now as u64);
        }
        Ok(())
    }

    /// The CRC-32 of the bytes.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub(crate) fn crc32(&self) -> Result<u32> {
        let mut hasher = crc32fast::Hasher::new();
        self.chunks(&mut |chunk| {
            hasher.update(chunk);
            Ok(())
        })?;
        Ok(hasher.finalize())
    }
}

/// Numbers, not bytes: a range may be of gigabytes.
impl fmt::Debug for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteRange")
            .field("start", &self.start)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl From<Bytes> for ByteRange {
    fn from(bytes: Bytes) -> Self {
        Self::new(Arc::new(bytes))
    }
}

impl From<&Bytes> for ByteRange {
    fn from(bytes: &Bytes) -> Self {
        bytes.clone().into()
    }
}

impl From<Source> for ByteRange {
    fn from(source: Source) -> Self {
        Self::new(Arc::new(source))
    }
}

impl From<&ByteRange> for ByteRange {
    fn from(range: &ByteRange) -> Self {
        range.clone()
    }
}
