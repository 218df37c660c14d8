//! The members of a tar archive (POSIX.1-1988, "ustar").

use std::collections::HashMap;

use bytes::Bytes;

use crate::error::{Error, Result};

/// Bytes of a header, and the unit to which a member's content is padded.
const BLOCK: usize = 512;

/// The regular files of an archive by their names; their bytes are shared, not copied.
///
/// # Errors
/// When a header's checksum or size is wrong, a member reaches past the end of the file, or two
/// have one name.
pub(super) fn list(bytes: &Bytes) -> Result<HashMap<String, Bytes>> {
    let mut members = HashMap::new();
    let mut at = 0usize;
    while let Some(header) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        // Two blocks of zeros end the archive; one is enough to know.
        if header.iter().all(|&byte| byte == 0) {
            break;
        }
        let malformed = |what: &str| Error::malformed(what).at(at as u64);
        if octal(header.get(148..156)) != Some(checksum(header)) {
            return Err(malformed(
                "a header of the tar archive does not have its checksum",
            ));
        }
        let start = at.saturating_add(BLOCK);
        let end = octal(header.get(124..136))
            .and_then(|size| usize::try_from(size).ok())
            .and_then(|size| start.checked_add(size))
            .filter(|&end| end <= bytes.len())
            .ok_or_else(|| malformed("a member of the tar archive reaches past the file's end"))?;
        let name = header.get(..100).unwrap_or_default();
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        // Links, folders and extended headers hold nothing of a checkpoint.
        if matches!(header.get(156), Some(b'0' | 0)) {
            let name = String::from_utf8_lossy(name).into_owned();
            if members.contains_key(&name) {
                return Err(malformed("two members have one name").in_entry(&name));
            }
            members.insert(name, bytes.slice(start..end));
        }
        at = end.div_ceil(BLOCK).saturating_mul(BLOCK);
    }
    Ok(members)
}

/// The sum of the header's bytes, the checksum's own counted as blanks.
fn checksum(header: &[u8; BLOCK]) -> u64 {
    header
        .iter()
        .enumerate()
        .map(|(index, &byte)| match index {
            148..156 => u64::from(b' '),
            _ => u64::from(byte),
        })
        .sum()
}

/// A number in octal digits, ended by a blank or a zero byte.
fn octal(field: Option<&[u8]>) -> Option<u64> {
    let text = std::str::from_utf8(field?).ok()?;
    let text = text.trim_matches([' ', '\0']);
    u64::from_str_radix(text, 8).ok()
}
