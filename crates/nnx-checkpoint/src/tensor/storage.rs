//! The bytes that tensors view.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

/// The bytes that one or more tensors view, little-endian. Cheap to clone; clones are the same
/// storage.
#[derive(Clone)]
pub struct Storage(Arc<StorageInner>);

struct StorageInner {
    bytes: Bytes,
    /// Of a storage whose bytes come later, how many they will be.
    planned: Option<usize>,
    location: String,
}

impl Storage {
    /// A storage of these bytes on the CPU.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self::at(bytes, "cpu")
    }

    /// A storage that PyTorch had on the device `location`, such as `cuda:0`.
    pub fn at(bytes: impl Into<Bytes>, location: impl Into<String>) -> Self {
        Self(Arc::new(StorageInner {
            bytes: bytes.into(),
            planned: None,
            location: location.into(),
        }))
    }

    /// A storage whose bytes are not there yet: its tensors have dtype, shape and strides, and an
    /// error in place of bytes. Whoever plans one knows by its identity where the bytes will come
    /// from.
    pub(crate) fn planned(byte_len: usize, location: impl Into<String>) -> Self {
        Self(Arc::new(StorageInner {
            bytes: Bytes::new(),
            planned: Some(byte_len),
            location: location.into(),
        }))
    }

    /// A part of the storage as a storage of its own. The range lies within it.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        match self.0.planned {
            Some(_) => Self::planned(range.len(), self.location()),
            None => Self::at(self.bytes().slice(range), self.location()),
        }
    }

    /// How many bytes there are.
    pub fn byte_len(&self) -> usize {
        self.0.planned.unwrap_or(self.0.bytes.len())
    }

    /// The bytes, little-endian.
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// A number that storages of the same bytes share, even where each is one of its own: the address
    /// of the bytes, or the identity while there are none.
    pub(crate) fn place(&self) -> usize {
        match self.0.planned {
            Some(_) => self.identity(),
            None => self.bytes().as_ptr().addr(),
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

/// Sizes, not bytes: a storage may hold gigabytes.
impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage")
            .field("bytes", &self.byte_len())
            .field("location", &self.location())
            .finish()
    }
}
