//! An archive that is being written, byte for byte as PyTorch's writer does.

use std::fmt;
use std::io::Write;

use indexmap::IndexMap;

use super::record::{RecordHeader, end_records};
use super::serialization_id::serialization_id;
use crate::error::{Error, Result};

/// The record that every archive ends with.
const ID_RECORD: &str = ".data/serialization_id";

/// Writes an archive as `torch.save` does: stored records that begin at multiples of 64, no dates,
/// and a serialization id. Root, names and contents decide every byte. The records go straight to
/// the writer, which need not seek.
///
/// The caller writes every record but the id, in PyTorch's order: `data.pkl`, `.format_version`,
/// `.storage_alignment`, `byteorder`, `data/0` and so on, `version`.
pub struct ZipWriter<W: Write> {
    inner: W,
    position: u64,
    root: String,
    records: IndexMap<String, RecordHeader>,
}

impl<W: Write> ZipWriter<W> {
    /// An archive whose records are all in the folder `root`.
    pub fn new(w: W, root: &str) -> Self {
        Self {
            inner: w,
            position: 0,
            root: root.to_owned(),
            records: IndexMap::new(),
        }
    }

    /// Writes one record under its name without the root folder.
    ///
    /// # Errors
    /// When a record of that name was written already, the root folder has no name, the whole name
    /// exceeds 65,535 bytes, or the writer refuses.
    pub fn record(&mut self, name: &str, data: &[u8]) -> Result<()> {
        self.record_with(name, data.len() as u64, |w| {
            w.write_all(data)?;
            Ok(crc32fast::hash(data))
        })
    }

    /// Writes one record whose content `write` puts out: exactly `size` bytes, of which it returns
    /// the CRC-32. The header in front needs neither.
    ///
    /// # Errors
    /// As for [`record`](Self::record), and when `write` fails.
    pub(crate) fn record_with(
        &mut self,
        name: &str,
        size: u64,
        write: impl FnOnce(&mut W) -> Result<u32>,
    ) -> Result<()> {
        let mut record = RecordHeader {
            crc: 0,
            size,
            header: self.position,
        };
        let header = record
            .local_header(&self.full_name(name)?)
            .map_err(|error| error.in_entry(name))?;
        if self.records.contains_key(name) {
            return Err(
                Error::unsupported("the archive has a record of that name already").in_entry(name),
            );
        }
        self.write(&header)?;
        record.crc = write(&mut self.inner)?;
        self.position = self.position.saturating_add(size);
        if size > 0 {
            self.write(&record.descriptor())?;
        }
        self.records.insert(name.to_owned(), record);
        Ok(())
    }

    /// Writes the serialization id, the central directory and the end records, and gives the writer
    /// back, not flushed.
    ///
    /// # Errors
    /// When the writer refuses, or there are more than 5,967,347 records.
    pub fn finish(mut self) -> Result<W> {
        let id = serialization_id(self.records.iter().map(|(name, record)| {
            let crc = (record.size > 0).then_some(record.crc);
            (name.as_str(), crc)
        }))
        .ok_or_else(|| {
            Error::unsupported(format!(
                "an archive of {} records has no serialization id known to us",
                self.records.len()
            ))
        })?;
        self.record(ID_RECORD, id.as_bytes())?;

        let start = self.position;
        let mut central = Vec::new();
        for (name, record) in &self.records {
            record.central_header(&self.full_name(name)?, &mut central)?;
        }
        self.write(&central)?;
        let end = end_records(self.records.len() as u64, start, self.position);
        self.write(&end)?;
        Ok(self.inner)
    }

    /// The name with the root folder.
    fn full_name(&self, name: &str) -> Result<String> {
        if self.root.is_empty() {
            return Err(Error::unsupported(
                "expected a root folder, without which PyTorch reads no archive",
            ));
        }
        Ok(format!("{}/{name}", self.root))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.inner.write_all(bytes)?;
        self.position = self.position.saturating_add(bytes.len() as u64);
        Ok(())
    }
}

impl<W: Write> fmt::Debug for ZipWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZipWriter")
            .field("root", &self.root)
            .field("position", &self.position)
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
