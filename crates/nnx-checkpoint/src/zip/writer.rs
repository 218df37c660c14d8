//! An archive that is being written, byte for byte as PyTorch's writer does.

use std::fmt;
use std::io::Write;

use indexmap::IndexMap;
use indexmap::map;

use super::fields::{
    CENTRAL, DEFERRED, DESCRIPTOR, END, END_64, EXTRA_64, LOCAL, LOCAL_BYTES, LOCATOR_64,
    SATURATED, SATURATED_16, UTF_8,
};
use super::id::serialization_id;
use crate::error::{Error, Result};

/// Every content begins at a multiple of this.
const ALIGNMENT: u64 = 64;
/// The id of the extra field that fills the space in front of a content: `FB`.
const PADDING: u16 = u16::from_le_bytes(*b"FB");
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
    records: IndexMap<String, Record>,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    crc: u32,
    size: u64,
    header: u64,
}

impl<W: Write> ZipWriter<W> {
    /// An archive whose records all lie in the folder `root`.
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
    /// When a record of that name was written already, the name is too long for the format, or the
    /// writer refuses.
    pub fn record(&mut self, name: &str, data: &[u8]) -> Result<()> {
        let record = Record {
            crc: crc32fast::hash(data),
            size: data.len() as u64,
            header: self.position,
        };
        let header = self.local_header(name, record)?;
        match self.records.entry(name.to_owned()) {
            map::Entry::Vacant(vacant) => vacant.insert(record),
            map::Entry::Occupied(_) => {
                return Err(
                    Error::unsupported("the archive has a record of that name already")
                        .in_entry(name),
                );
            }
        };
        self.write(&header)?;
        self.write(data)?;
        if record.size > 0 {
            self.write(&record.descriptor())?;
        }
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
            self.central_header(&mut central, name, *record)?;
        }
        self.write(&central)?;
        let end = self.end_records(start);
        self.write(&end)?;
        Ok(self.inner)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.inner.write_all(bytes)?;
        self.position = self.position.saturating_add(bytes.len() as u64);
        Ok(())
    }

    /// The name with the root folder, and its length.
    fn full_name(&self, name: &str) -> Result<(String, u16)> {
        let full = format!("{}/{name}", self.root);
        let len = u16::try_from(full.len()).map_err(|_| {
            Error::unsupported(format!(
                "a name in an archive has at most 65535 bytes, this one has {}",
                full.len()
            ))
            .in_entry(name)
        })?;
        Ok((full, len))
    }

    /// The header in front of a content. Sizes and checksum are left to the descriptor, except for a
    /// size that needs 64 bits.
    fn local_header(&self, name: &str, record: Record) -> Result<Vec<u8>> {
        let (name, name_len) = self.full_name(name)?;
        // The compressed size is left open here too.
        let mut extra = record.numbers_64(0);
        let content = [LOCAL_BYTES, name_len.into(), extra.len() as u64, 4]
            .iter()
            .fold(self.position, |sum, part| sum.saturating_add(*part));
        let fill = content.next_multiple_of(ALIGNMENT).saturating_sub(content);
        let fill = u16::try_from(fill).unwrap_or_default();
        put(&mut extra, &[&PADDING.to_le_bytes(), &fill.to_le_bytes()]);
        extra.resize(extra.len().saturating_add(fill.into()), b'Z');

        let mut header = Vec::new();
        put(
            &mut header,
            &[
                &LOCAL.to_le_bytes(),
                // The version needed to read it.
                &[0; 2],
                &record.flags().to_le_bytes(),
                // Method, time, date, checksum and the two sizes.
                &[0; 18],
                &name_len.to_le_bytes(),
                &u16_len(&extra).to_le_bytes(),
                name.as_bytes(),
                &extra,
            ],
        );
        Ok(header)
    }

    fn central_header(&self, out: &mut Vec<u8>, name: &str, record: Record) -> Result<()> {
        let (name, name_len) = self.full_name(name)?;
        let extra = record.numbers_64(record.size);
        put(
            out,
            &[
                &CENTRAL.to_le_bytes(),
                // The versions made by and needed.
                &[0; 4],
                &record.flags().to_le_bytes(),
                // Method, time and date.
                &[0; 6],
                &record.crc.to_le_bytes(),
                &short(record.size).to_le_bytes(),
                &short(record.size).to_le_bytes(),
                &name_len.to_le_bytes(),
                &u16_len(&extra).to_le_bytes(),
                // Comment, disk and the two kinds of attributes.
                &[0; 10],
                &short(record.header).to_le_bytes(),
                name.as_bytes(),
                &extra,
            ],
        );
        Ok(())
    }

    /// The 64-bit end record, its locator and the end record; PyTorch's writer always has all three.
    fn end_records(&self, start: u64) -> Vec<u8> {
        /// Bytes of the 64-bit end record behind its size.
        const REST: u64 = 44;
        /// Made by version 3.0 on Unix, needs 4.5, as PyTorch's writer has it.
        const VERSIONS: [u8; 4] = [0x1e, 3, 0x2d, 0];

        let count = self.records.len() as u64;
        let short_count = u16::try_from(count).unwrap_or(SATURATED_16);
        let size = self.position.saturating_sub(start);
        let mut out = Vec::new();
        put(
            &mut out,
            &[
                &END_64.to_le_bytes(),
                &REST.to_le_bytes(),
                &VERSIONS,
                // This disk and that of the central directory.
                &[0; 8],
                &count.to_le_bytes(),
                &count.to_le_bytes(),
                &size.to_le_bytes(),
                &start.to_le_bytes(),
                &LOCATOR_64.to_le_bytes(),
                // The disk of the record above, its offset, and the number of disks.
                &[0; 4],
                &self.position.to_le_bytes(),
                &1u32.to_le_bytes(),
                &END.to_le_bytes(),
                &[0; 4],
                &short_count.to_le_bytes(),
                &short_count.to_le_bytes(),
                &short(size).to_le_bytes(),
                &short(start).to_le_bytes(),
                // The comment's length.
                &[0; 2],
            ],
        );
        out
    }
}

impl Record {
    /// PyTorch's writer gives an empty record no descriptor.
    fn flags(self) -> u16 {
        if self.size == 0 {
            UTF_8
        } else {
            UTF_8 | DEFERRED
        }
    }

    /// Whether 32 bits do not hold every number.
    fn is_long(self) -> bool {
        short(self.size) == SATURATED || short(self.header) == SATURATED
    }

    /// The extra field with the numbers that 32 bits do not hold; empty when they hold all.
    fn numbers_64(self, compressed: u64) -> Vec<u8> {
        let mut numbers = Vec::new();
        if short(self.size) == SATURATED {
            put(
                &mut numbers,
                &[&self.size.to_le_bytes(), &compressed.to_le_bytes()],
            );
        }
        if short(self.header) == SATURATED {
            put(&mut numbers, &[&self.header.to_le_bytes()]);
        }
        if numbers.is_empty() {
            return numbers;
        }
        let mut field = Vec::new();
        put(
            &mut field,
            &[
                &EXTRA_64.to_le_bytes(),
                &u16_len(&numbers).to_le_bytes(),
                &numbers,
            ],
        );
        field
    }

    /// What follows the content: with 64-bit sizes when the record [is long](Self::is_long).
    fn descriptor(self) -> Vec<u8> {
        let mut out = Vec::new();
        put(
            &mut out,
            &[&DESCRIPTOR.to_le_bytes(), &self.crc.to_le_bytes()],
        );
        for _ in 0..2 {
            if self.is_long() {
                put(&mut out, &[&self.size.to_le_bytes()]);
            } else {
                put(&mut out, &[&short(self.size).to_le_bytes()]);
            }
        }
        out
    }
}

/// The number in 32 bits, or the value that points to the 64-bit numbers.
fn short(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(SATURATED)
}

/// The length of extra fields, of which this module writes a hundred bytes at most.
fn u16_len(extra: &[u8]) -> u16 {
    u16::try_from(extra.len()).unwrap_or(SATURATED_16)
}

fn put(out: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        out.extend_from_slice(part);
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
