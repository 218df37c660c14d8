//! Tar archives as Python's `tarfile` reads them: headers, and the members behind them.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::source::ByteRange;

/// Bytes of a header; everything in an archive begins on a multiple of this.
pub(crate) const BLOCK: usize = 512;
/// [`BLOCK`] as a length in a file.
const BLOCK_LEN: u64 = BLOCK as u64;

/// The fields of a header that are needed (POSIX.1-2001, `ustar` interchange format).
#[derive(Debug)]
pub(crate) struct TarHeader {
    /// The name, which a header before it may replace.
    pub(crate) name: String,
    /// The number that it states, which may be less than nothing.
    size: i128,
    /// The kind of the entry: a digit, or a letter of an extension.
    pub(crate) kind: u8,
}

impl TarHeader {
    /// The header that the bytes begin with, if they begin with one: its checksum is right.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let block = bytes.get(..BLOCK)?;
        let stated = number(block.get(148..156)?)?;
        // The checksum is computed as if its own field were blank, of bytes or of signed ones.
        let blank = i128::from(b' ').saturating_mul(8);
        let counted = || [block.get(..148), block.get(156..)].into_iter().flatten();
        let sum: i128 = counted().flatten().map(|&byte| i128::from(byte)).sum();
        let signed: i128 = counted()
            .flatten()
            .map(|&byte| i128::from(byte.cast_signed()))
            .sum();
        if stated != blank.saturating_add(sum) && stated != blank.saturating_add(signed) {
            return None;
        }
        let name = block.get(..100)?.split(|&byte| byte == 0).next()?;
        Some(Self {
            name: String::from_utf8_lossy(name).into_owned(),
            size: number(block.get(124..136)?)?,
            kind: *block.get(156)?,
        })
    }

    /// How many bytes follow, the last block of them filled up: none for links, devices and folders,
    /// whatever their header states.
    pub(crate) fn content_len(&self) -> Option<usize> {
        let is_folder = self.kind == 0 && self.name.ends_with('/');
        match self.kind {
            b'1'..=b'6' => Some(0),
            _ if is_folder => Some(0),
            _ => usize::try_from(self.size).ok(),
        }
    }
}

/// The regular files of an archive by their names; of the archive only the headers are read.
///
/// # Errors
/// When a header's checksum or size is wrong, a member reaches past the end of the file, or two
/// have one name.
pub(crate) fn members(bytes: &ByteRange) -> Result<HashMap<String, ByteRange>> {
    let mut members = HashMap::new();
    let mut at = 0u64;
    while let Some(block) = bytes.read_up_to(at, BLOCK_LEN)?.first_chunk::<BLOCK>() {
        // Two blocks of zeros end the archive; one is enough to know.
        if block.iter().all(|&byte| byte == 0) {
            break;
        }
        let malformed = |what: &str| Error::malformed(what).at(at);
        let header = TarHeader::parse(block)
            .ok_or_else(|| malformed("a header of the tar archive does not have its checksum"))?;
        let start = at.saturating_add(BLOCK_LEN);
        let content = header
            .content_len()
            .and_then(|len| bytes.slice(start, len as u64).ok())
            .ok_or_else(|| malformed("a member of the tar archive reaches past the file's end"))?;
        // Links, folders and extended headers hold nothing of a checkpoint.
        if matches!(header.kind, b'0' | 0) {
            if members.contains_key(&header.name) {
                return Err(malformed("two members have one name").in_entry(&header.name));
            }
            members.insert(header.name, content.clone());
        }
        let end = start.saturating_add(content.byte_len());
        at = end.div_ceil(BLOCK_LEN).saturating_mul(BLOCK_LEN);
    }
    Ok(members)
}

/// A number as `tarfile` reads it: in octal digits as Python's `int(text, 8)` takes them, up to a
/// zero byte, or in GNU's form for others, bytes behind one that no text begins with.
fn number(field: &[u8]) -> Option<i128> {
    if let Some((&first @ (0x80 | 0xff), digits)) = field.split_first() {
        let size = digits.iter().try_fold(0_i128, |number, &byte| {
            number.checked_mul(256)?.checked_add(i128::from(byte))
        })?;
        let is_negative = first == 0xff;
        let all = 1_i128.checked_shl(u32::try_from(digits.len()).ok()?.checked_mul(8)?)?;
        return if is_negative {
            size.checked_sub(all)
        } else {
            Some(size)
        };
    }
    let text = field.split(|&byte| byte == 0).next()?;
    let text = std::str::from_utf8(text).ok()?;
    let text = text.trim_matches(|character: char| {
        // The ASCII characters that Python's `str.strip` removes as white space.
        matches!(character, '\t'..='\r' | '\x1c'..='\x1f' | ' ')
    });
    if text.is_empty() {
        return Some(0);
    }
    let (sign, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    let digits = match digits {
        [b'0', b'o' | b'O', b'_', digits @ ..] | [b'0', b'o' | b'O', digits @ ..] => digits,
        digits => digits,
    };
    let digits = std::str::from_utf8(digits).ok()?;
    let is_open = |digits: &str| digits.starts_with('_') || digits.ends_with('_');
    if is_open(digits) || digits.contains("__") || digits.starts_with('+') {
        return None;
    }
    let number = i128::from_str_radix(&digits.replace('_', ""), 8).ok()?;
    number.checked_mul(sign)
}
