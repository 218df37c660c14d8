//! The zip archive that `torch.save` writes: a reader that trusts nothing and a writer that gives
//! PyTorch's own bytes.

use std::io::Write;
use std::marker::PhantomData;

use bytes::Bytes;

use crate::Limits;
use crate::error::{Error, Result};

/// An archive, opened by its central directory.
#[derive(Debug)]
pub struct ZipArchive(Vec<ZipEntry>);

/// One entry of the central directory.
#[derive(Debug)]
pub struct ZipEntry {
    name: String,
    size: u64,
}

impl ZipEntry {
    /// The name, root folder included.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the content, inflated.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl ZipArchive {
    /// Reads the central directory.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn parse(_bytes: &Bytes, _limits: &Limits) -> Result<Self> {
        Err(Error::unsupported("not yet"))
    }

    /// The entries, in the order of the central directory.
    pub fn entries(&self) -> &[ZipEntry] {
        &self.0
    }

    /// The entry of that very name.
    pub fn entry(&self, name: &str) -> Option<&ZipEntry> {
        self.0.iter().find(|entry| entry.name == name)
    }

    /// The content of an entry.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn data(&self, _entry: &ZipEntry) -> Result<Bytes> {
        Err(Error::unsupported("not yet"))
    }
}

/// Writes an archive as `torch.save` does.
#[derive(Debug)]
pub struct ZipWriter<W: Write>(PhantomData<W>);

impl<W: Write> ZipWriter<W> {
    /// An archive under the folder `root`.
    pub fn new(_w: W, _root: &str) -> Self {
        Self(PhantomData)
    }

    /// Writes one record.
    ///
    /// # Errors
    /// When the writer refuses.
    pub fn record(&mut self, _name: &str, _data: &[u8]) -> Result<()> {
        Err(Error::unsupported("not yet"))
    }

    /// Writes the serialization id, the central directory and the end records.
    ///
    /// # Errors
    /// When the writer refuses.
    pub fn finish(self) -> Result<W> {
        Err(Error::unsupported("not yet"))
    }
}
