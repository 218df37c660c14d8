//! One entry of an archive, as the central directory states it.

use std::sync::Arc;

use crate::error::{Error, Result};

/// One entry of an archive.
///
/// Its name is a name and nothing else: it may be absolute, climb with `..` or hold any character,
/// and is never used as a path.
#[derive(Clone, Debug)]
pub struct ZipEntry {
    pub(super) name: Arc<str>,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) compressed: u64,
    pub(super) size: u64,
    /// Where the local header begins.
    pub(super) header: u64,
    /// Where the next entry or the central directory begins: the entry's bytes end before.
    pub(super) bound: u64,
}

impl ZipEntry {
    /// The name, root folder included: `archive/data.pkl`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the content, as the central directory states them. A deflated content may turn out
    /// not to have that size; [`data`](super::ZipArchive::data) then fails.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes that the content takes in the file.
    pub fn compressed_size(&self) -> u64 {
        self.compressed
    }

    /// The CRC-32 of the content; 0 when the writer did not compute it.
    pub fn crc32(&self) -> u32 {
        self.crc
    }

    /// The CRC-32 to compare the content with; none when the writer did not compute it.
    pub(crate) fn checksum(&self) -> Option<u32> {
        Some(self.crc).filter(|&crc| crc != 0)
    }

    /// Compares the CRC-32 of the content as somebody read it with the one stated, if one is.
    ///
    /// # Errors
    /// When they differ.
    pub(crate) fn compare(&self, found: u32) -> Result<()> {
        match self.checksum() {
            Some(stated) if stated != found => Err(Error::malformed(format!(
                "expected a content with the checksum {stated:#010x}, found {found:#010x}"
            ))
            .in_entry(&self.name)),
            _ => Ok(()),
        }
    }

    /// Whether the file has the content as it is, so that reading it copies nothing.
    pub fn is_stored(&self) -> bool {
        self.method == STORED
    }
}

/// The method of an entry that the file has as it is.
pub(super) const STORED: u16 = 0;
/// The method of an entry that is a raw deflate stream (RFC 1951).
pub(super) const DEFLATED: u16 = 8;

/// A compression method's name (APPNOTE 4.4.5).
pub(super) fn method_name(method: u16) -> &'static str {
    match method {
        0 => "stored",
        1 => "shrunk",
        2..=5 => "reduced",
        6 => "imploded",
        8 => "deflated",
        9 => "deflate64",
        12 => "bzip2",
        14 => "LZMA",
        93 => "Zstandard",
        94 => "MP3",
        95 => "XZ",
        96 => "JPEG",
        97 => "WavPack",
        98 => "PPMd",
        99 => "AES encryption",
        _ => "unknown",
    }
}
