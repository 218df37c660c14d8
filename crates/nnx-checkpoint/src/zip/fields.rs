//! Little-endian fields, read one after the other, and the numbers that zip fixes.

use crate::error::{Error, Result};

/// Begins the header in front of each entry's bytes.
pub(super) const LOCAL: u32 = 0x0403_4b50;
/// Begins each header of the central directory.
pub(super) const CENTRAL: u32 = 0x0201_4b50;
/// Begins what may follow an entry's bytes: the numbers that its local header left open.
pub(super) const DESCRIPTOR: u32 = 0x0807_4b50;
/// Begins the end record.
pub(super) const END: u32 = 0x0605_4b50;
/// Begins the end record with 64-bit numbers.
pub(super) const END_64: u32 = 0x0606_4b50;
/// Begins the record that leads to the end record with 64-bit numbers.
pub(super) const LOCATOR_64: u32 = 0x0706_4b50;

/// Bytes of a local header without name and extra fields.
pub(super) const LOCAL_BYTES: u64 = 30;
/// Bytes of a header of the central directory without name, extra fields and comment.
pub(super) const CENTRAL_BYTES: u64 = 46;

/// The flag of an encrypted entry.
pub(super) const ENCRYPTED: u16 = 1;
/// The flag of an entry whose local header leaves checksum and sizes to a descriptor.
pub(super) const DEFERRED: u16 = 1 << 3;
/// The flag of strong encryption.
pub(super) const STRONGLY_ENCRYPTED: u16 = 1 << 6;
/// The flag of a name in UTF-8.
pub(super) const UTF_8: u16 = 1 << 11;
/// The flag of a local header whose fields are masked.
pub(super) const MASKED: u16 = 1 << 13;

/// The extra field with 64-bit numbers.
pub(super) const EXTRA_64: u16 = 1;

/// A 16-bit field that says: look among the 64-bit numbers.
pub(super) const SATURATED_16: u16 = u16::MAX;
/// A 32-bit field that says: look among the 64-bit numbers.
pub(super) const SATURATED: u32 = u32::MAX;

/// Reads fields in turn. An error states the offset of the field that is missing.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    position: u64,
    structure: &'static str,
}

impl<'a> Fields<'a> {
    /// The bytes from `position` of the file on; `structure` names what is read, for errors.
    pub(super) fn new(rest: &'a [u8], position: u64, structure: &'static str) -> Self {
        Self {
            rest,
            position,
            structure,
        }
    }

    /// The offset of the next field.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Bytes that are left.
    pub(super) fn len(&self) -> usize {
        self.rest.len()
    }

    /// The next `len` bytes.
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(Error::malformed(format!(
                "expected {len} more bytes of the {}, found {}",
                self.structure,
                self.rest.len()
            ))
            .at(self.position));
        };
        self.rest = rest;
        self.position = self.position.saturating_add(len as u64);
        Ok(taken)
    }

    /// The next `len` bytes as fields of their own.
    pub(super) fn section(&mut self, len: usize, structure: &'static str) -> Result<Self> {
        let position = self.position;
        Ok(Self {
            rest: self.take(len)?,
            position,
            structure,
        })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The signature that begins the structure.
    pub(super) fn signature(&mut self, expected: u32) -> Result<()> {
        let at = self.position;
        let found = self.u32()?;
        if found == expected {
            return Ok(());
        }
        Err(Error::malformed(format!(
            "expected the signature {expected:#010x} of the {}, found {found:#010x}",
            self.structure
        ))
        .at(at))
    }
}

/// The content of the extra field with 64-bit numbers among `extra`, if there is one.
pub(super) fn extra_64(mut extra: Fields<'_>) -> Result<Option<Fields<'_>>> {
    let mut found = None;
    // Up to three bytes of padding are common.
    while extra.len() >= 4 {
        let at = extra.position();
        let (id, len) = (extra.u16()?, extra.u16()?);
        let numbers = extra.section(len.into(), "64-bit numbers")?;
        if id == EXTRA_64 && found.replace(numbers).is_some() {
            return Err(
                Error::malformed("the 64-bit numbers of an entry stand there twice").at(at),
            );
        }
    }
    Ok(found)
}
