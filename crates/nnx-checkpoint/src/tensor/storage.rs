//! The bytes that tensors view, and where each of them comes from.

mod chunks;
mod derived;
mod joined;
mod record;
mod stored_range;

use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

pub use self::chunks::Chunk;
pub(crate) use self::derived::DerivedTensor;
pub(crate) use self::joined::{JoinedTensor, TensorChunk, TensorChunks};
pub(crate) use self::record::{ByteOrder, Record, RecordContent};
pub(crate) use self::stored_range::StoredRange;
use crate::error::{Error, Result};
use crate::source::{ByteRange, CHUNK_BYTES};
use crate::{Dtype, Limits, Tensor};

/// The bytes that one or more tensors view, little-endian: PyTorch's `StorageImpl`. Cheap to clone;
/// clones are the same storage.
///
/// A storage knows its length and how its bytes are had; they are read when they are first asked
/// for.
#[derive(Clone)]
pub struct Storage(Arc<StorageInner>);

struct StorageInner {
    source: StorageSource,
    byte_len: usize,
    location: Arc<str>,
    /// The bytes, once somebody asked for all of them.
    bytes: OnceLock<Bytes>,
    /// Set once the bytes were compared with the checksum that their file states.
    verified: OnceLock<()>,
}

/// Where the bytes of a storage come from.
#[derive(Debug)]
enum StorageSource {
    /// They are in memory.
    Memory(Bytes),
    /// They are in a source as they are.
    Range(ByteRange),
    /// A record of a PyTorch file: perhaps compressed, in another byte order, or with a checksum.
    Record(Record),
    /// They are in several ranges, one behind the other.
    Chunks(Vec<ByteRange>),
    /// They are in the boxes of a tensor that several processes saved.
    Joined(Box<JoinedTensor>),
    /// They are the elements of a tensor of another storage.
    Computed(Box<DerivedTensor>),
}

/// A part of the bytes of a storage.
pub(crate) enum StoragePart<'a> {
    /// They are in memory.
    Bytes(&'a [u8]),
    /// They are in a source as they are, and were not read.
    Stored(&'a StoredRange),
}

impl Storage {
    /// A storage of these bytes on the CPU.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self::at(bytes, "cpu")
    }

    /// A storage that PyTorch had on the device `location`, such as `cuda:0`.
    pub fn at(bytes: impl Into<Bytes>, location: impl Into<Arc<str>>) -> Self {
        let bytes = bytes.into();
        let len = bytes.len();
        Self::with_source(StorageSource::Memory(bytes), len, location)
    }

    /// A storage whose bytes are those of a range.
    ///
    /// # Errors
    /// When the range has more bytes than memory can have addresses.
    pub fn from_range(range: ByteRange, location: impl Into<Arc<str>>) -> Result<Self> {
        let len = memory_len(range.byte_len())?;
        Ok(Self::with_source(
            StorageSource::Range(range),
            len,
            location,
        ))
    }

    /// A storage whose bytes are in several ranges, as those of a tensor that many processes saved
    /// in parts are. Each [`Chunk`] says where its bytes go; their order is of no account.
    ///
    /// # Errors
    /// When the chunks leave a gap, overlap, or do not have `byte_len` bytes together.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use nnx_checkpoint::{Chunk, Storage};
    ///
    /// let half = |to, text: &'static [u8]| Chunk { to, range: Bytes::from_static(text).into() };
    /// let storage = Storage::from_chunks(6, vec![half(3, b"def"), half(0, b"abc")], "cpu")?;
    /// assert_eq!(storage.bytes()?, "abcdef");
    /// # Ok::<(), nnx_checkpoint::Error>(())
    /// ```
    pub fn from_chunks(
        byte_len: u64,
        chunks: Vec<Chunk>,
        location: impl Into<Arc<str>>,
    ) -> Result<Self> {
        let ranges = chunks::in_order(byte_len, chunks)?;
        let len = memory_len(byte_len)?;
        Ok(Self::with_source(
            StorageSource::Chunks(ranges),
            len,
            location,
        ))
    }

    /// A storage that is a record of a PyTorch file.
    pub(crate) fn from_record(
        record: Record,
        byte_len: usize,
        location: impl Into<Arc<str>>,
    ) -> Self {
        Self::with_source(StorageSource::Record(record), byte_len, location)
    }

    /// A storage of the elements of a tensor that several processes saved.
    ///
    /// # Errors
    /// When it has more bytes than memory can have addresses.
    pub(crate) fn from_joined(joined: JoinedTensor) -> Result<Self> {
        let len = joined.byte_len()?;
        let source = StorageSource::Joined(Box::new(joined));
        Ok(Self::with_source(source, len, "cpu"))
    }

    /// A storage of the elements of a tensor.
    pub(crate) fn from_derived(derived: DerivedTensor) -> Self {
        let (len, location) = (derived.byte_len(), derived.location());
        Self::with_source(StorageSource::Computed(Box::new(derived)), len, location)
    }

    fn with_source(source: StorageSource, byte_len: usize, location: impl Into<Arc<str>>) -> Self {
        Self(Arc::new(StorageInner {
            source,
            byte_len,
            location: location.into(),
            bytes: OnceLock::new(),
            verified: OnceLock::new(),
        }))
    }

    /// A part of the storage as a storage of its own.
    ///
    /// # Errors
    /// When the range is not within the storage.
    pub(crate) fn part(&self, range: Range<usize>) -> Result<Self> {
        let (start, len) = (range.start, range.len());
        let source = match &self.0.source {
            StorageSource::Memory(bytes) if range.end <= bytes.len() => {
                StorageSource::Memory(bytes.slice(range))
            }
            StorageSource::Range(whole) => {
                StorageSource::Range(whole.slice(start as u64, len as u64)?)
            }
            _ => {
                let view = Tensor::view(self.clone(), Dtype::UInt8, start, &[len], &[1])?;
                let derived = DerivedTensor::new(view, Dtype::UInt8, &Limits::default())?;
                StorageSource::Computed(Box::new(derived))
            }
        };
        Ok(Self::with_source(source, len, self.0.location.clone()))
    }

    /// How many bytes there are.
    pub fn byte_len(&self) -> usize {
        self.0.byte_len
    }

    /// The bytes, little-endian. They are read, and compared with the checksum that their file
    /// states for them, when they are first asked for, and kept.
    ///
    /// # Errors
    /// When they cannot be read, do not have their checksum, do not inflate to the length stated, or
    /// cannot be put in little-endian order.
    pub fn bytes(&self) -> Result<&Bytes> {
        if let StorageSource::Memory(bytes) = &self.0.source {
            return Ok(bytes);
        }
        if let Some(bytes) = self.0.bytes.get() {
            return Ok(bytes);
        }
        let bytes = self.load()?;
        Ok(self.0.bytes.get_or_init(|| bytes))
    }

    /// The bytes, kept by nobody unless they were before.
    ///
    /// # Errors
    /// As for [`bytes`](Self::bytes).
    pub(crate) fn load(&self) -> Result<Bytes> {
        if let Some(bytes) = self.0.bytes.get() {
            return Ok(bytes.clone());
        }
        match &self.0.source {
            StorageSource::Memory(bytes) => Ok(bytes.clone()),
            StorageSource::Range(range) => range.bytes(),
            StorageSource::Record(record) => {
                let is_verified = self.0.verified.get().is_some();
                let bytes = record.bytes(!is_verified)?;
                self.0.verified.get_or_init(|| ());
                Ok(bytes)
            }
            StorageSource::Chunks(_) | StorageSource::Joined(_) | StorageSource::Computed(_) => {
                let mut all = super::gather::reserved(self.byte_len())?;
                self.chunks(&mut |chunk| {
                    all.extend_from_slice(chunk);
                    Ok(())
                })?;
                Ok(all.into())
            }
        }
    }

    /// Writes the bytes. Of those that are in a file as they are, a piece is in memory at a time.
    ///
    /// # Errors
    /// As for [`bytes`](Self::bytes), and when writing fails. A checksum is compared when all was
    /// written.
    pub fn copy_to(&self, out: &mut (impl Write + ?Sized)) -> Result<()> {
        self.chunks(&mut |chunk| Ok(out.write_all(chunk)?))
    }

    /// Gives the bytes piece by piece.
    ///
    /// # Errors
    /// As for [`bytes`](Self::bytes), and when `each` fails. A checksum is compared at the end.
    pub(crate) fn chunks(&self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if let Some(bytes) = self.in_memory() {
            return bytes.chunks(CHUNK_BYTES).try_for_each(each);
        }
        if let Some(stored) = self.stored()? {
            return stored.chunks(each);
        }
        match &self.0.source {
            StorageSource::Chunks(ranges) => ranges.iter().try_for_each(|range| range.chunks(each)),
            StorageSource::Joined(joined) => joined.chunks(each),
            StorageSource::Computed(derived) => derived.chunks(each),
            _ => self.load()?.chunks(CHUNK_BYTES).try_for_each(each),
        }
    }

    /// The bytes, if they are in this process's own memory already.
    fn in_memory(&self) -> Option<&Bytes> {
        match &self.0.source {
            StorageSource::Memory(bytes) => Some(bytes),
            // Bytes that were read from a map belong to the map.
            _ if self.is_mapped() => None,
            _ => self.0.bytes.get(),
        }
    }

    /// Whether the bytes are in memory as they are, or mapped into it: having them reads nothing.
    pub(crate) fn is_mapped(&self) -> bool {
        match &self.0.source {
            StorageSource::Memory(_) => true,
            StorageSource::Range(range) => range.is_mapped(),
            StorageSource::Record(record) => record.is_mapped(),
            StorageSource::Chunks(_) | StorageSource::Joined(_) | StorageSource::Computed(_) => {
                false
            }
        }
    }

    /// The range that holds the bytes as they are; none when they are compressed, in another byte
    /// order, in several ranges or to be computed.
    ///
    /// # Errors
    /// When an archive contradicts itself.
    pub(crate) fn verbatim(&self) -> Result<Option<ByteRange>> {
        match &self.0.source {
            StorageSource::Memory(bytes) => Ok(Some(bytes.into())),
            StorageSource::Range(range) => Ok(Some(range.clone())),
            StorageSource::Record(record) => record.verbatim(),
            StorageSource::Chunks(_) | StorageSource::Joined(_) | StorageSource::Computed(_) => {
                Ok(None)
            }
        }
    }

    /// [`verbatim`](Self::verbatim) with the checksum of the bytes.
    ///
    /// # Errors
    /// As for [`verbatim`](Self::verbatim).
    pub(crate) fn stored(&self) -> Result<Option<StoredRange>> {
        let range = self.verbatim()?;
        Ok(range.map(|range| StoredRange::from_storage(range, self)))
    }

    /// Gives the bytes part by part: of a tensor that several processes saved, large parts are not
    /// read.
    ///
    /// # Errors
    /// As for [`chunks`](Self::chunks).
    pub(crate) fn parts(&self, each: &mut dyn FnMut(StoragePart<'_>) -> Result<()>) -> Result<()> {
        match &self.0.source {
            StorageSource::Joined(joined) => joined.parts(each),
            _ => self.chunks(&mut |bytes| each(StoragePart::Bytes(bytes))),
        }
    }

    /// Checks the sources of the bytes without reading them: the parts of a tensor that several
    /// processes saved must be there, and match the description in the checkpoint.
    ///
    /// # Errors
    /// When they are not.
    pub(crate) fn check_source(&self) -> Result<()> {
        match &self.0.source {
            StorageSource::Joined(joined) => joined.check(),
            StorageSource::Computed(derived) => derived.source().check_source(),
            _ => Ok(()),
        }
    }

    /// The CRC-32 to compare the bytes with, which nobody did yet.
    fn checksum(&self) -> Option<u32> {
        match &self.0.source {
            StorageSource::Record(record) if self.0.verified.get().is_none() => record.checksum(),
            _ => None,
        }
    }

    /// Compares the checksum of the bytes as somebody read them with the one that their file states.
    ///
    /// # Errors
    /// When they differ.
    pub(crate) fn compare(&self, found: u32) -> Result<()> {
        if let StorageSource::Record(record) = &self.0.source {
            record.compare(found)?;
        }
        self.0.verified.get_or_init(|| ());
        Ok(())
    }

    /// Compares the bytes of a storage that is in a file as it is with their checksum, unless that
    /// was done: for a reader of a part of them.
    ///
    /// # Errors
    /// When they differ, or cannot be read.
    fn verify(&self, range: &ByteRange) -> Result<()> {
        if self.checksum().is_some() {
            self.compare(range.crc32()?)?;
        }
        Ok(())
    }

    /// Two numbers that storages of the same bytes share, even where each is one of its own:
    /// PyTorch's `data_ptr()`, or where in their source the bytes begin.
    pub(crate) fn data_ptr(&self) -> (usize, u64) {
        match &self.0.source {
            StorageSource::Memory(bytes) => (bytes.as_ptr().addr(), 0),
            StorageSource::Range(range) => range.data_ptr(),
            _ => (self.identity(), 0),
        }
    }

    /// The device the file names: `cpu`, `cuda:0`, `mps`.
    pub fn location(&self) -> &str {
        &self.0.location
    }

    /// Whether both are one storage, as the tensors of tied weights have it.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A number that equal storages, and only they, share while any of them lives.
    pub fn identity(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

/// A length as one of memory.
fn memory_len(len: u64) -> Result<usize> {
    usize::try_from(len)
        .map_err(|_| Error::unsupported(format!("a storage of {len} bytes has no room in memory")))
}

/// Sizes, not bytes: a storage may hold gigabytes.
impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage")
            .field("bytes", &self.byte_len())
            .field("location", &self.location())
            .finish()
    }
}
