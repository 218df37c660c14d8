//! An archive among other bytes, as in a file that is two things at once.

use std::ops::Range;

use super::eocd::{COMMENT_BYTES, END_64_BYTES, END_BYTES, LOCATOR_BYTES};
use super::fields::{CENTRAL, END, END_64, LOCATOR_64};
use crate::error::{Error, Result};

/// Bytes behind an end record in which Python's `zipfile` still finds it.
const REACH: usize = COMMENT_BYTES.saturating_add(1);

/// The archive that Python's `zipfile` finds in bytes that do not begin with one: it takes the last
/// end record within reach, whatever follows it, and the directory in front of that.
///
/// # Errors
/// When there is a directory, but it does not say where in the bytes the archive begins.
pub(crate) fn find_embedded(bytes: &[u8]) -> Result<Option<Range<usize>>> {
    let Some(found) = Embedded::find(bytes) else {
        return Ok(None);
    };
    let start = found.directory.checked_sub(found.stated_start);
    match start.zip(bytes.get(..found.end)) {
        Some((start, _)) => Ok(Some(start..found.end)),
        None => Err(Error::malformed(
            "a zip archive lies within the bytes, which its end record does not fit",
        )),
    }
}

/// The directory of an archive and its end.
struct Embedded {
    directory: usize,
    /// Where the directory begins by the end record, counted from the archive's start.
    stated_start: usize,
    /// The end of the archive, behind its comment.
    end: usize,
}

impl Embedded {
    fn find(bytes: &[u8]) -> Option<Self> {
        let from = bytes.len().saturating_sub(END_BYTES.saturating_add(REACH));
        let signature = END.to_le_bytes();
        let tail = bytes.get(from..)?;
        let at = tail
            .windows(signature.len())
            .rposition(|window| window == signature)?
            .checked_add(from)?;
        let record_end = at.checked_add(END_BYTES)?;
        let record = bytes.get(at..record_end)?;
        let comment = usize::from(u16::from_le_bytes(*record.last_chunk::<2>()?));
        let (size, stated_start, records) = match long_form(bytes, at) {
            Some((size, start)) => (
                size,
                start,
                usize::try_from(LOCATOR_BYTES.saturating_add(END_64_BYTES)).ok()?,
            ),
            None => (
                u64::from(u32_at(record, 12)?),
                u64::from(u32_at(record, 16)?),
                0,
            ),
        };
        let directory = at.checked_sub(records)?;
        let directory = directory.checked_sub(usize::try_from(size).ok()?)?;
        let is_directory = bytes.get(directory..)?.starts_with(&CENTRAL.to_le_bytes());
        is_directory.then_some(Self {
            directory,
            stated_start: usize::try_from(stated_start).unwrap_or(usize::MAX),
            end: record_end.checked_add(comment)?,
        })
    }
}

/// Size and start of the directory by the 64-bit end record, if one is directly in front of its
/// locator.
fn long_form(bytes: &[u8], end: usize) -> Option<(u64, u64)> {
    let locator = end.checked_sub(usize::try_from(LOCATOR_BYTES).ok()?)?;
    let start = locator.checked_sub(usize::try_from(END_64_BYTES).ok()?)?;
    let record = bytes.get(start..locator)?;
    let is_there = bytes.get(locator..)?.starts_with(&LOCATOR_64.to_le_bytes())
        && record.starts_with(&END_64.to_le_bytes());
    let number = |at: usize| Some(u64::from_le_bytes(*record.get(at..)?.first_chunk()?));
    is_there.then_some((number(40)?, number(48)?))
}

fn u32_at(record: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*record.get(at..)?.first_chunk()?))
}
