//! The bytes that tensors view.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

/// The bytes that one or more tensors view, little-endian. Cheap to clone; clones are the same
/// storage.
#[derive(Clone)]
pub struct Storage(Arc<StorageInner>);

struct StorageInner {
    bytes: Bytes,
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
            location: location.into(),
        }))
    }

    /// The bytes, little-endian.
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
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
            .field("bytes", &self.bytes().len())
            .field("location", &self.location())
            .finish()
    }
}
