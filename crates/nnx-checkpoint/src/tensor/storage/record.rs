//! Storages as PyTorch files have them.

use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result, shown};
use crate::source::ByteRange;
use crate::zip::{ZipArchive, ZipEntry, decoded};

/// A storage in a PyTorch file.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) content: RecordContent,
    pub(crate) order: ByteOrder,
    /// Whether the bytes are compared with a checksum that the file states.
    pub(crate) verify: bool,
}

/// Where a file has the bytes of a record.
#[derive(Clone, Debug)]
pub(crate) enum RecordContent {
    /// They are the content of that entry of the archive.
    Entry(ZipArchive, ZipEntry),
    /// They are a range.
    Range(ByteRange),
}

/// How the bytes of a file become little-endian ones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ByteOrder {
    /// They are.
    Little,
    /// Numbers of so many bytes are turned round.
    Big(usize),
    /// The file is big-endian, and its references to the storage of that key disagree on the size
    /// of a number.
    Unclear(Arc<str>),
}

impl ByteOrder {
    fn is_little(&self) -> bool {
        matches!(self, Self::Little | Self::Big(1))
    }
}

impl Record {
    /// The bytes, little-endian; compared with their checksum if there is one and `verify` is set.
    ///
    /// # Errors
    /// When the archive contradicts itself, the bytes do not have their checksum, or cannot be put
    /// in little-endian order.
    pub(super) fn bytes(&self, verify: bool) -> Result<Bytes> {
        let verify = verify && self.verify;
        let bytes = match &self.content {
            RecordContent::Range(range) if self.is_verbatim() => range.bytes()?,
            RecordContent::Range(range) => range.copied()?,
            // Bytes that are changed anyway need no map.
            RecordContent::Entry(archive, entry) if archive.is_in_file() && !self.is_verbatim() => {
                decoded(entry, archive.range(entry)?.copied()?, verify)?
            }
            RecordContent::Entry(archive, entry) if verify => archive.data(entry)?,
            RecordContent::Entry(archive, entry) => archive.data_unverified(entry)?,
        };
        self.little_endian(bytes)
    }

    /// The range that holds the bytes as they are; none when they are compressed, or in another byte
    /// order.
    ///
    /// # Errors
    /// When the archive contradicts itself.
    pub(super) fn verbatim(&self) -> Result<Option<ByteRange>> {
        match &self.content {
            _ if !self.is_verbatim() => Ok(None),
            RecordContent::Range(range) => Ok(Some(range.clone())),
            RecordContent::Entry(archive, entry) => archive.range(entry).map(Some),
        }
    }

    fn is_verbatim(&self) -> bool {
        let is_stored = match &self.content {
            RecordContent::Range(_) => true,
            RecordContent::Entry(_, entry) => entry.is_stored(),
        };
        self.order.is_little() && is_stored
    }

    /// Whether the bytes are those of a map.
    pub(super) fn is_mapped(&self) -> bool {
        let is_mapped = match &self.content {
            RecordContent::Range(range) => range.is_mapped(),
            RecordContent::Entry(archive, _) => archive.is_mapped(),
        };
        is_mapped && self.is_verbatim()
    }

    /// The CRC-32 that the file states, if it is to be compared.
    pub(super) fn checksum(&self) -> Option<u32> {
        match &self.content {
            RecordContent::Entry(_, entry) if self.verify => entry.checksum(),
            _ => None,
        }
    }

    /// Compares a checksum of the bytes with the one that the file states, if that is to be done.
    ///
    /// # Errors
    /// When they differ.
    pub(super) fn compare(&self, found: u32) -> Result<()> {
        match &self.content {
            RecordContent::Entry(_, entry) if self.verify => entry.compare(found),
            _ => Ok(()),
        }
    }

    fn little_endian(&self, bytes: Bytes) -> Result<Bytes> {
        match &self.order {
            ByteOrder::Little | ByteOrder::Big(1) => Ok(bytes),
            ByteOrder::Big(size) => {
                let mut swapped = bytes.to_vec();
                swapped.chunks_exact_mut(*size).for_each(<[u8]>::reverse);
                Ok(swapped.into())
            }
            ByteOrder::Unclear(key) => Err(Error::unsupported(format!(
                "storage `{}` of a big-endian file is used with numbers of different sizes, so \
                 that its byte order cannot be told",
                shown(key)
            ))),
        }
    }
}
