//! The members of a tar archive.

use std::collections::HashMap;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::tar::{BLOCK, TarHeader};

/// The regular files of an archive by their names; their bytes are shared, not copied.
///
/// # Errors
/// When a header's checksum or size is wrong, a member reaches past the end of the file, or two
/// have one name.
pub(super) fn list(bytes: &Bytes) -> Result<HashMap<String, Bytes>> {
    let mut members = HashMap::new();
    let mut at = 0usize;
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        // Two blocks of zeros end the archive; one is enough to know.
        if block.iter().all(|&byte| byte == 0) {
            break;
        }
        let malformed = |what: &str| Error::malformed(what).at(at as u64);
        let header = TarHeader::parse(block)
            .ok_or_else(|| malformed("a header of the tar archive does not have its checksum"))?;
        let start = at.saturating_add(BLOCK);
        let end = header
            .content_len()
            .and_then(|len| start.checked_add(len))
            .filter(|&end| end <= bytes.len())
            .ok_or_else(|| malformed("a member of the tar archive reaches past the file's end"))?;
        // Links, folders and extended headers hold nothing of a checkpoint.
        if matches!(header.kind, b'0' | 0) {
            if members.contains_key(&header.name) {
                return Err(malformed("two members have one name").in_entry(&header.name));
            }
            members.insert(header.name, bytes.slice(start..end));
        }
        at = end.div_ceil(BLOCK).saturating_mul(BLOCK);
    }
    Ok(members)
}
