//! An archive that is being read.

use std::collections::HashMap;
use std::collections::hash_map;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::entry::{DEFLATED, STORED, ZipEntry, method_name};
use super::fields::{ENCRYPTED, MASKED, STRONGLY_ENCRYPTED};
use super::inflate::inflate;
use super::{central, end, local};
use crate::Limits;
use crate::error::{Error, Result};

/// An archive, opened by its central directory; the entries' bytes are looked at when they are
/// asked for.
///
/// What a careful writer never produces is refused rather than guessed at: bytes in front of the
/// archive or behind it, two entries of one name, entries that overlap, and a local header that
/// contradicts the central directory.
pub struct ZipArchive {
    bytes: Bytes,
    entries: Vec<ZipEntry>,
    index: HashMap<Arc<str>, usize>,
}

impl ZipArchive {
    /// Reads the central directory. No entry's bytes are touched.
    ///
    /// # Errors
    /// When there is no end record or more than one, the archive does not fill the file from its
    /// first byte to its last, a number reaches outside the file, an entry's name is not UTF-8 or
    /// stands there twice, entries overlap, the archive is split, or it has more than
    /// [`Limits::max_zip_entries`] entries or its deflated ones state more bytes together than
    /// [`Limits::max_inflated_bytes`].
    pub fn parse(bytes: &Bytes, limits: &Limits) -> Result<Self> {
        let directory = end::find(bytes)?;
        let entries = central::read(bytes, directory, limits)?;
        let mut index = HashMap::with_capacity(entries.len());
        for (position, entry) in entries.iter().enumerate() {
            match index.entry(Arc::clone(&entry.name)) {
                hash_map::Entry::Vacant(vacant) => vacant.insert(position),
                hash_map::Entry::Occupied(_) => {
                    return Err(Error::malformed("two entries have one name").in_entry(&entry.name));
                }
            };
        }
        Ok(Self {
            bytes: bytes.clone(),
            entries,
            index,
        })
    }

    /// The entries, in the order of the central directory.
    pub fn entries(&self) -> &[ZipEntry] {
        &self.entries
    }

    /// The entry of exactly that name, root folder and letter case included.
    pub fn entry(&self, name: &str) -> Option<&ZipEntry> {
        self.entries.get(*self.index.get(name)?)
    }

    /// The content of an entry: a slice of the file when it is stored, else inflated. Its checksum
    /// is verified, unless the central directory has 0 there, as PyTorch writes it when told not to
    /// compute any.
    ///
    /// # Errors
    /// When the local header contradicts the central directory, the content reaches into the next
    /// entry, is encrypted or compressed by a method other than deflate, does not inflate to the
    /// size stated, or does not have its checksum.
    pub fn data(&self, entry: &ZipEntry) -> Result<Bytes> {
        let data = self.data_unverified(entry)?;
        verify(entry, &data).map_err(|error| error.in_entry(&entry.name))?;
        Ok(data)
    }

    /// [`data`](Self::data) whatever the checksum says.
    ///
    /// # Errors
    /// As for [`data`](Self::data), but for the checksum.
    pub fn data_unverified(&self, entry: &ZipEntry) -> Result<Bytes> {
        self.content(entry)
            .map_err(|error| error.in_entry(&entry.name))
    }

    fn content(&self, entry: &ZipEntry) -> Result<Bytes> {
        decode(entry, self.raw(entry)?)
    }

    /// What the file has of an entry, compressed or not; no byte of it is touched.
    ///
    /// # Errors
    /// When the local header contradicts the central directory, or the entry is encrypted.
    pub(crate) fn raw(&self, entry: &ZipEntry) -> Result<Bytes> {
        if entry.flags & (ENCRYPTED | STRONGLY_ENCRYPTED | MASKED) != 0 {
            return Err(Error::unsupported("the entry is encrypted"));
        }
        let range = local::content(&self.bytes, entry)?;
        if range.end > self.bytes.len() {
            return Err(Error::malformed("the entry is not one of this archive"));
        }
        Ok(self.bytes.slice(range))
    }
}

/// The content of an entry of which these are the [raw](ZipArchive::raw) bytes.
///
/// # Errors
/// When the method is not known, or the bytes do not give the size stated.
fn decode(entry: &ZipEntry, raw: Bytes) -> Result<Bytes> {
    match entry.method {
        STORED if entry.compressed == entry.size => Ok(raw),
        STORED => Err(Error::malformed(format!(
            "a stored entry takes {} bytes but states {}",
            entry.compressed, entry.size
        ))),
        DEFLATED => inflate(&raw, entry.size).map(Bytes::from),
        method => Err(Error::unsupported(format!(
            "compression method {method} ({}) is not supported, only stored and deflated \
             entries are",
            method_name(method)
        ))),
    }
}

/// The content of an entry whose [raw](ZipArchive::raw) bytes were read by other means, compared
/// with its checksum if `is_verified`.
///
/// # Errors
/// As for [`ZipArchive::data`].
pub(crate) fn decoded(entry: &ZipEntry, raw: Bytes, is_verified: bool) -> Result<Bytes> {
    let outcome = decode(entry, raw).and_then(|data| {
        if is_verified {
            verify(entry, &data)?;
        }
        Ok(data)
    });
    outcome.map_err(|error| error.in_entry(&entry.name))
}

fn verify(entry: &ZipEntry, data: &[u8]) -> Result<()> {
    if entry.crc == 0 {
        return Ok(());
    }
    let found = crc32fast::hash(data);
    if found == entry.crc {
        return Ok(());
    }
    Err(Error::malformed(format!(
        "expected a content with the checksum {:#010x}, found {found:#010x}",
        entry.crc
    )))
}

impl fmt::Debug for ZipArchive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZipArchive")
            .field("len", &self.bytes.len())
            .field("entries", &self.entries)
            .finish_non_exhaustive()
    }
}
