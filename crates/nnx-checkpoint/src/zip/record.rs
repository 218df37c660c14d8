//! The headers of one record, and the records at an archive's end, as PyTorch's writer has them.

use super::fields::{
    CENTRAL, DEFERRED, DESCRIPTOR, END, END_64, EXTRA_64, LOCAL, LOCAL_BYTES, LOCATOR_64,
    SATURATED, SATURATED_16, UTF_8,
};
use crate::error::{Error, Result};

/// Every content begins at a multiple of this.
const ALIGNMENT: u64 = 64;
/// The id of the extra field that fills the space in front of a content: `FB`.
const PADDING: u16 = u16::from_le_bytes(*b"FB");

/// The fields of the headers of a record beside its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordHeader {
    pub(super) crc: u32,
    pub(super) size: u64,
    /// Where its local header begins.
    pub(super) header: u64,
}

impl RecordHeader {
    /// The header in front of a content. Sizes and checksum are left to the descriptor, except for a
    /// size that needs 64 bits.
    pub(super) fn local_header(self, name: &str) -> Result<Vec<u8>> {
        let name_len = name_len(name)?;
        // The compressed size is left open here too.
        let mut extra = self.numbers_64(0);
        let content = [LOCAL_BYTES, name_len.into(), extra.len() as u64, 4]
            .iter()
            .fold(self.header, |sum, part| sum.saturating_add(*part));
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
                &self.flags().to_le_bytes(),
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

    /// The header in the central directory.
    pub(super) fn central_header(self, name: &str, out: &mut Vec<u8>) -> Result<()> {
        let name_len = name_len(name)?;
        let extra = self.numbers_64(self.size);
        put(
            out,
            &[
                &CENTRAL.to_le_bytes(),
                // The versions made by and needed.
                &[0; 4],
                &self.flags().to_le_bytes(),
                // Method, time and date.
                &[0; 6],
                &self.crc.to_le_bytes(),
                &short(self.size).to_le_bytes(),
                &short(self.size).to_le_bytes(),
                &name_len.to_le_bytes(),
                &u16_len(&extra).to_le_bytes(),
                // Comment, disk and the two kinds of attributes.
                &[0; 10],
                &short(self.header).to_le_bytes(),
                name.as_bytes(),
                &extra,
            ],
        );
        Ok(())
    }

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

    /// The bytes behind the content: with 64-bit sizes when the record [is long](Self::is_long).
    pub(super) fn descriptor(self) -> Vec<u8> {
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

/// The 64-bit end record, its locator and the end record; PyTorch's writer always has all
/// three. `start` and `end` are those of the central directory.
pub(super) fn end_records(count: u64, start: u64, end: u64) -> Vec<u8> {
    /// Bytes of the 64-bit end record behind its size.
    const REST: u64 = 44;
    /// Made by version 3.0 on Unix, needs 4.5, as PyTorch's writer has it.
    const VERSIONS: [u8; 4] = [0x1e, 3, 0x2d, 0];

    let short_count = u16::try_from(count).unwrap_or(SATURATED_16);
    let size = end.saturating_sub(start);
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
            &end.to_le_bytes(),
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

/// The length of a name.
fn name_len(name: &str) -> Result<u16> {
    u16::try_from(name.len()).map_err(|_| {
        Error::unsupported(format!(
            "a name in an archive has at most 65535 bytes, this one has {}",
            name.len()
        ))
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The headers of record `b` behind a record of 4 GiB and 4 bytes, itself so long; from torch.
    #[test]
    fn long_records_have_torchs_headers() {
        let size = 0x1_0000_0004;
        let check = |record: RecordHeader, extra: &str| {
            let header = record.local_header("archive/b").unwrap();
            let hex: String = header[39..].iter().map(|b| format!("{b:02x}")).collect();
            assert_eq!(hex, extra);
        };
        let mut record = RecordHeader {
            crc: 0xc622_f71d,
            size,
            header: 0,
        };
        check(record, "0100100004000000010000000000000000000000464201005a");
        assert_eq!(
            record.descriptor(),
            b"PK\x07\x08\x1d\xf7\x22\xc6\x04\0\0\0\x01\0\0\0\x04\0\0\0\x01\0\0\0"
        );

        record.header = 0x1_0000_005c;
        let fill = "5a".repeat(0x1d);
        check(
            record,
            &format!("01001800040000000100000000000000000000005c0000000100000046421d00{fill}"),
        );
        let mut central = Vec::new();
        record.central_header("archive/b", &mut central).unwrap();
        assert_eq!(
        central,
        b"PK\x01\x02\0\0\0\0\x08\x08\0\0\0\0\0\0\x1d\xf7\x22\xc6\xff\xff\xff\xff\xff\xff\xff\xff\
          \x09\0\x1c\0\0\0\0\0\0\0\0\0\0\0\xff\xff\xff\xffarchive/b\x01\0\x18\0\
          \x04\0\0\0\x01\0\0\0\x04\0\0\0\x01\0\0\0\x5c\0\0\0\x01\0\0\0"
    );

        // A short record behind them needs 64 bits for its place alone.
        let record = RecordHeader {
            crc: 0x8fe6_2899,
            size: 2,
            header: 0x2_0000_0140,
        };
        let fill = "5a".repeat(9);
        check(record, &format!("01000800400100000200000046420900{fill}"));
        assert_eq!(record.descriptor().len(), 24);
    }
}
