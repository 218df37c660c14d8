//! The members of a tar archive (POSIX.1-1988, "ustar").

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::source::ByteRange;

/// Bytes of a header, and the unit to which a member's content is padded.
const BLOCK: usize = 512;
const BLOCK_LEN: u64 = BLOCK as u64;

/// The regular files of an archive by their names; of the archive only the headers are read.
///
/// # Errors
/// When a header's checksum or size is wrong, a member reaches past the end of the file, or two
/// have one name.
pub(super) fn list(bytes: &ByteRange) -> Result<HashMap<String, ByteRange>> {
    let mut members = HashMap::new();
    let mut at = 0u64;
    while let Some(header) = bytes.read_up_to(at, BLOCK_LEN)?.first_chunk::<BLOCK>() {
        // Two blocks of zeros end the archive; one is enough to know.
        if header.iter().all(|&byte| byte == 0) {
            break;
        }
        let malformed = |what: &str| Error::malformed(what).at(at);
        if octal(header.get(148..156)) != Some(checksum(header)) {
            return Err(malformed(
                "a header of the tar archive does not have its checksum",
            ));
        }
        let start = at.saturating_add(BLOCK_LEN);
        let content = octal(header.get(124..136))
            .and_then(|size| bytes.slice(start, size).ok())
            .ok_or_else(|| malformed("a member of the tar archive reaches past the file's end"))?;
        let name = header.get(..100).unwrap_or_default();
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        // Links, folders and extended headers hold nothing of a checkpoint.
        if matches!(header.get(156), Some(b'0' | 0)) {
            let name = String::from_utf8_lossy(name).into_owned();
            if members.contains_key(&name) {
                return Err(malformed("two members have one name").in_entry(&name));
            }
            members.insert(name, content.clone());
        }
        let end = start.saturating_add(content.byte_len());
        at = end.div_ceil(BLOCK_LEN).saturating_mul(BLOCK_LEN);
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
