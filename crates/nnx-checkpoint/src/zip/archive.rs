//! An archive that is being read.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use super::entry::{DEFLATED, STORED, ZipEntry, method_name};
use super::eocd::Directory;
use super::fields::{ENCRYPTED, MASKED, STRONGLY_ENCRYPTED};
use super::inflate::inflate;
use super::{central_directory, eocd, local_header};
use crate::Limits;
use crate::error::{Error, Result};
use crate::name_index::NameIndex;
use crate::source::ByteRange;

/// An archive, opened by its central directory; the entries' bytes are looked at when they are
/// asked for.
///
/// An archive that a careful writer never produces is refused rather than guessed at: one with bytes
/// in front of it or behind it, two entries of one name, entries that overlap, or a local header that
/// contradicts the central directory.
#[derive(Clone)]
pub struct ZipArchive(Arc<ArchiveInner>);

struct ArchiveInner {
    source: ByteRange,
    entries: Vec<ZipEntry>,
    names: NameIndex,
}

impl ZipArchive {
    /// Reads the central directory. No entry's bytes are read.
    ///
    /// # Errors
    /// When there is no end record or more than one, the archive does not fill the file from its
    /// first byte to its last, a number reaches outside the file, an entry's name is not UTF-8 or
    /// occurs twice, entries overlap, the archive is split, or it has more than
    /// [`Limits::max_zip_entries`] entries or its deflated ones state more bytes together than
    /// [`Limits::max_inflated_bytes`].
    pub fn parse(source: impl Into<ByteRange>, limits: &Limits) -> Result<Self> {
        let source = source.into();
        let directory = eocd::find(&source)?;
        Self::with_directory(source, directory, limits)
    }

    /// [`parse`](Self::parse) for one of many archives in one file: the end record has no comment, so
    /// that its place is known, and a few hundred bytes are read instead of those that a comment may
    /// take.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse), and when there is a comment.
    pub(crate) fn parse_item(source: &ByteRange, limits: &Limits) -> Result<Self> {
        let directory = eocd::at_end(source)?;
        Self::with_directory(source.clone(), directory, limits)
    }

    fn with_directory(source: ByteRange, directory: Directory, limits: &Limits) -> Result<Self> {
        let entries = central_directory::read(&source, directory, limits)?;
        let mut names = NameIndex::with_capacity(entries.len());
        for (number, entry) in (0..).zip(&entries) {
            let is_name = |other| is_name(&entries, other, &entry.name);
            if names.insert(&entry.name, number, is_name).is_err() {
                return Err(Error::malformed("two entries have one name").in_entry(&entry.name));
            }
        }
        Ok(Self(Arc::new(ArchiveInner {
            source,
            entries,
            names,
        })))
    }

    /// The entries, in the order of the central directory.
    pub fn entries(&self) -> &[ZipEntry] {
        &self.0.entries
    }

    /// The entry of exactly that name, root folder and letter case included.
    pub fn entry(&self, name: &str) -> Option<&ZipEntry> {
        self.0.entries.get(self.position(name)?)
    }

    /// Where among the [`entries`](Self::entries) the one of that name is.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        let entries = &self.0.entries;
        let number = self
            .0
            .names
            .find(name, |other| is_name(entries, other, name))?;
        usize::try_from(number).ok()
    }

    /// Whether the archive is in memory, or mapped into it.
    pub(crate) fn is_mapped(&self) -> bool {
        self.0.source.is_mapped()
    }

    /// Whether the archive is in an open file.
    pub(crate) fn is_in_file(&self) -> bool {
        self.0.source.in_file().is_some()
    }

    /// The content of an entry: a slice of the file when it is stored and the file is mapped, else
    /// read, and inflated. Its checksum is verified, unless the central directory has 0 there, as
    /// PyTorch writes it when told not to compute any.
    ///
    /// # Errors
    /// When the local header contradicts the central directory, the content reaches into the next
    /// entry, is encrypted or compressed by a method other than deflate, does not have the size
    /// stated or inflate to it, or does not have its checksum.
    pub fn data(&self, entry: &ZipEntry) -> Result<Bytes> {
        decoded(entry, self.raw(entry)?, true)
    }

    /// [`data`](Self::data) whatever the checksum says.
    ///
    /// # Errors
    /// As for [`data`](Self::data), but for the checksum.
    pub fn data_unverified(&self, entry: &ZipEntry) -> Result<Bytes> {
        decoded(entry, self.raw(entry)?, false)
    }

    /// The bytes of an entry in the file, compressed or not. Header and content are read in one piece,
    /// because each reading of a remote object takes its time.
    fn raw(&self, entry: &ZipEntry) -> Result<Bytes> {
        let most = local_header::header_len(entry).saturating_add(entry.compressed);
        let read = || {
            let own = self.own(entry, most)?;
            let start = local_header::content(&own, entry)?;
            let len = usize::try_from(entry.compressed).ok();
            let end = len.and_then(|len| start.checked_add(len));
            match end.filter(|&end| end <= own.len()) {
                Some(end) => Ok(own.slice(start..end)),
                None => Err(foreign()),
            }
        };
        read().map_err(|error| error.in_entry(&entry.name))
    }

    /// Where the file has the content of an entry, compressed or not; no byte of it is read.
    ///
    /// # Errors
    /// When the local header contradicts the central directory, the entry is encrypted, or it is
    /// stored and has two sizes.
    pub(crate) fn range(&self, entry: &ZipEntry) -> Result<ByteRange> {
        let find = || {
            let start =
                local_header::content(&self.own(entry, local_header::header_len(entry))?, entry)?;
            let start = entry.header.saturating_add(start as u64);
            let range = self.0.source.slice(start, entry.compressed);
            range.map_err(|_| foreign())
        };
        find().map_err(|error| error.in_entry(&entry.name))
    }

    /// Up to `most` of the bytes from an entry's local header on: the one way to an entry's bytes.
    ///
    /// # Errors
    /// When the entry is encrypted, or is stored and has two sizes.
    fn own(&self, entry: &ZipEntry, most: u64) -> Result<Bytes> {
        if entry.flags & (ENCRYPTED | STRONGLY_ENCRYPTED | MASKED) != 0 {
            return Err(Error::unsupported("the entry is encrypted"));
        }
        // A caller that copies the bytes of a stored entry relies on their number.
        if entry.method == STORED && entry.compressed != entry.size {
            return Err(Error::malformed(format!(
                "a stored entry takes {} bytes but states {}",
                entry.compressed, entry.size
            )));
        }
        self.0.source.read_up_to(entry.header, most)
    }
}

fn is_name(entries: &[ZipEntry], number: u32, name: &str) -> bool {
    let entry = usize::try_from(number).ok().and_then(|at| entries.get(at));
    entry.is_some_and(|entry| *entry.name == *name)
}

#[cold]
fn foreign() -> Error {
    Error::malformed("the entry is not one of this archive")
}

/// The content of an entry, as its bytes are when they were read.
///
/// # Errors
/// When the method is not known, or the bytes do not give the size stated.
fn decode(entry: &ZipEntry, raw: Bytes) -> Result<Bytes> {
    match entry.method {
        STORED => Ok(raw),
        DEFLATED => inflate(&raw, entry.size).map(Bytes::from),
        method => Err(Error::unsupported(format!(
            "compression method {method} ({}) is not supported, only stored and deflated \
             entries are",
            method_name(method)
        ))),
    }
}

/// The content of an entry of whose [range](ZipArchive::range) these are the bytes, compared with its
/// checksum if `is_verified`.
///
/// # Errors
/// As for [`ZipArchive::data`].
pub(crate) fn decoded(entry: &ZipEntry, raw: Bytes, is_verified: bool) -> Result<Bytes> {
    let data = decode(entry, raw).map_err(|error| error.in_entry(&entry.name))?;
    if is_verified && entry.checksum().is_some() {
        entry.compare(crc32fast::hash(&data))?;
    }
    Ok(data)
}

impl fmt::Debug for ZipArchive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZipArchive")
            .field("len", &self.0.source.byte_len())
            .field("entries", &self.0.entries)
            .finish_non_exhaustive()
    }
}
