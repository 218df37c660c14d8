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
    /// They are the content of an entry of the archive, of that number.
    Entry(ZipArchive, usize),
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
    fn entry(&self) -> Option<(&ZipArchive, &ZipEntry)> {
        match &self.content {
            RecordContent::Entry(archive, index) => Some((archive, archive.entries().get(*index)?)),
            RecordContent::Range(_) => None,
        }
    }

    /// The bytes, little-endian; compared with their checksum if there is one and `verify` is set.
    ///
    /// # Errors
    /// When the archive contradicts itself, the bytes do not have their checksum, or cannot be put
    /// in little-endian order.
    pub(super) fn bytes(&self, verify: bool) -> Result<Bytes> {
        let verify = verify && self.verify;
        let bytes = match (&self.content, self.entry()) {
            (RecordContent::Range(range), _) if self.is_verbatim() => range.bytes()?,
            (RecordContent::Range(range), _) => range.copied()?,
            // What becomes other bytes needs no map of these.
            (_, Some((archive, entry))) if archive.is_in_file() && !self.is_verbatim() => {
                decoded(entry, archive.range(entry)?.copied()?, verify)?
            }
            (_, Some((archive, entry))) if verify => archive.data(entry)?,
            (_, Some((archive, entry))) => archive.data_unverified(entry)?,
            (_, None) => return Err(Error::malformed("the archive has no such record")),
        };
        self.little_endian(bytes)
    }

    /// The range that holds the bytes as they are; none when they are compressed, or in another byte
    /// order.
    ///
    /// # Errors
    /// When the archive contradicts itself.
    pub(super) fn verbatim(&self) -> Result<Option<ByteRange>> {
        match (&self.content, self.entry()) {
            _ if !self.is_verbatim() => Ok(None),
            (RecordContent::Range(range), _) => Ok(Some(range.clone())),
            (_, Some((archive, entry))) => archive.range(entry).map(Some),
            _ => Ok(None),
        }
    }

    fn is_verbatim(&self) -> bool {
        self.order.is_little() && self.entry().is_none_or(|(_, entry)| entry.is_stored())
    }

    /// Whether the bytes are those of a map.
    pub(super) fn is_mapped(&self) -> bool {
        match (&self.content, self.entry()) {
            _ if !self.is_verbatim() => false,
            (RecordContent::Range(range), _) => range.is_mapped(),
            (_, Some((archive, _))) => archive.is_mapped(),
            (_, None) => false,
        }
    }

    /// The CRC-32 that the file states and that is to be compared; PyTorch writes 0 where it
    /// computed none.
    pub(super) fn checksum(&self) -> Option<u32> {
        let (_, entry) = self.entry()?;
        Some(entry.crc32()).filter(|&crc| self.verify && crc != 0)
    }

    /// Compares a checksum of the bytes with the one that the file states.
    ///
    /// # Errors
    /// When they differ.
    pub(super) fn compare(&self, found: u32) -> Result<()> {
        match (self.checksum(), self.entry()) {
            (Some(stated), Some((_, entry))) if stated != found => Err(Error::malformed(format!(
                "expected a content with the checksum {stated:#010x}, found {found:#010x}"
            ))
            .in_entry(entry.name())),
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
