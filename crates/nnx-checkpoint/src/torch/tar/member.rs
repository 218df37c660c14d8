//! The members of a tar archive.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::source::ByteRange;
use crate::tar::{BLOCK, TarHeader};

/// [`BLOCK`] as a length in a file.
const BLOCK_LEN: u64 = BLOCK as u64;

/// The regular files of an archive by their names; of the archive only the headers are read.
///
/// # Errors
/// When a header's checksum or size is wrong, a member reaches past the end of the file, or two
/// have one name.
pub(super) fn list(bytes: &ByteRange) -> Result<HashMap<String, ByteRange>> {
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
