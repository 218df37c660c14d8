//! The records at the end of the central directory (APPNOTE 4.3.14 to 4.3.16), which say where it is.

use bytes::Bytes;

use super::fields::{CENTRAL, END, END_64, Fields, LOCATOR_64, SATURATED, SATURATED_16};
use crate::error::{Error, Result};
use crate::source::ByteRange;

/// Bytes of an end record without its comment.
pub(super) const END_BYTES: usize = 22;
/// Bytes of the longest comment.
pub(super) const COMMENT_BYTES: usize = 65_535;
/// Bytes of a 64-bit end record without extensions.
pub(super) const END_64_BYTES: u64 = 56;
/// Bytes that the central directory of a small archive takes, as the one of a tensor has it.
const ITEM_DIRECTORY_BYTES: u64 = 1 << 10;
/// Bytes of the locator.
pub(super) const LOCATOR_BYTES: u64 = 20;

/// Where the central directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Directory {
    /// Its first byte.
    pub(super) start: u64,
    /// Its bytes.
    pub(super) size: u64,
    /// Its entries.
    pub(super) entries: u64,
}

/// Finds the central directory.
///
/// A comment may hold what looks like an end record, so every candidate in reach is judged: it
/// counts when its comment ends with the file and its central directory ends where the end records
/// begin. Exactly one may count.
pub(super) fn find(source: &ByteRange) -> Result<Directory> {
    let reach = END_BYTES.saturating_add(COMMENT_BYTES);
    let tail = Tail::read(source, reach as u64)?;
    let floor = tail.bytes.len().saturating_sub(reach);
    let mut found = None;
    let mut refusal = None;
    for within in (floor..tail.bytes.len()).rev() {
        let is_candidate = tail
            .bytes
            .get(within..)
            .is_some_and(|rest| rest.starts_with(&END.to_le_bytes()) && rest.len() >= END_BYTES);
        if !is_candidate {
            continue;
        }
        let at = tail.start.saturating_add(within as u64);
        match judge(&tail, at) {
            Ok(directory) => {
                if let Some((_, other)) = found.replace((directory, at)) {
                    return Err(Error::malformed(format!(
                        "two end records are sound, at {at:#x} and {other:#x}; which one counts \
                         is a matter of the reader"
                    ))
                    .at(at));
                }
            }
            // The candidate nearest to the end is the likeliest to be meant.
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    match (found, refusal) {
        (Some((directory, _)), _) => Ok(directory),
        (None, Some(error)) => Err(error),
        (None, None) => Err(Error::malformed(
            "expected the end record of a zip archive, found none: the file is cut short or is no \
             zip archive",
        )
        .at(source.byte_len())),
    }
}

/// Finds the central directory of an archive whose end record has no comment and ends the bytes.
pub(super) fn at_end(source: &ByteRange) -> Result<Directory> {
    let reach = (END_BYTES as u64).saturating_add(ITEM_DIRECTORY_BYTES);
    let tail = Tail::read(source, reach)?;
    let at = source.byte_len().checked_sub(END_BYTES as u64);
    let at = at.ok_or_else(|| {
        Error::malformed(format!(
            "expected an archive, found {} bytes",
            source.byte_len()
        ))
    })?;
    judge(&tail, at)
}

/// The last bytes of the file, in which the end records are looked for. They are read in one piece,
/// with the usual 64-bit record and, of a small archive, the central directory.
struct Tail<'a> {
    source: &'a ByteRange,
    bytes: Bytes,
    /// Where in the file they begin.
    start: u64,
}

impl<'a> Tail<'a> {
    /// Reads the last `reach` bytes, and those of a 64-bit record in front of them.
    fn read(source: &'a ByteRange, reach: u64) -> Result<Self> {
        let reach = reach
            .saturating_add(LOCATOR_BYTES)
            .saturating_add(END_64_BYTES);
        let start = source.byte_len().saturating_sub(reach);
        Ok(Self {
            source,
            bytes: source.read_up_to(start, reach)?,
            start,
        })
    }

    /// The bytes of the file from `position` on: `least` of them, if there are so many.
    fn at(&self, position: u64, least: u64) -> Result<Bytes> {
        let Some(within) = position.checked_sub(self.start) else {
            return self.source.read_up_to(position, least);
        };
        let within = usize::try_from(within).unwrap_or(usize::MAX);
        Ok(self.bytes.slice(within.min(self.bytes.len())..))
    }
}

/// Reads the end record at `at` and, where there is one, its 64-bit form.
fn judge(tail: &Tail<'_>, at: u64) -> Result<Directory> {
    let bytes = tail.at(at, END_BYTES as u64)?;
    let mut fields = Fields::new(&bytes, at, "end record");
    fields.signature(END)?;
    let (disk, directory_disk) = (fields.u16()?, fields.u16()?);
    let (entries_here, entries) = (fields.u16()?, fields.u16()?);
    let (size, start) = (fields.u32()?, fields.u32()?);
    let comment: usize = fields.u16()?.into();
    if fields.len() != comment {
        return Err(Error::malformed(format!(
            "expected the end record's comment of {comment} bytes to end the file, found {} bytes",
            fields.len()
        ))
        .at(fields.position()));
    }
    for number in [disk, directory_disk] {
        if number != 0 && number != SATURATED_16 {
            return Err(split(at));
        }
    }
    if entries_here != entries {
        return Err(split(at));
    }

    let short = Directory {
        start: start.into(),
        size: size.into(),
        entries: entries.into(),
    };
    let (directory, end) = match long_form(tail, at)? {
        None => (short, at),
        Some((long, end)) => {
            let agree = (start == SATURATED || short.start == long.start)
                && (size == SATURATED || short.size == long.size)
                && (entries == SATURATED_16 || short.entries == long.entries);
            if !agree {
                return Err(Error::malformed(format!(
                    "the two end records disagree: {short:?} against {long:?}"
                ))
                .at(at));
            }
            (long, end)
        }
    };
    check(tail, directory, end)?;
    Ok(directory)
}

/// The 64-bit end record in front of the end record at `at`, and where it begins.
fn long_form(tail: &Tail<'_>, at: u64) -> Result<Option<(Directory, u64)>> {
    let Some(locator) = at.checked_sub(LOCATOR_BYTES) else {
        return Ok(None);
    };
    let bytes = tail.at(locator, LOCATOR_BYTES)?;
    let mut fields = Fields::new(&bytes, locator, "64-bit end record's locator");
    if fields.u32()? != LOCATOR_64 {
        return Ok(None);
    }
    let (disk, record, disks) = (fields.u32()?, fields.u64()?, fields.u32()?);
    if disk != 0 || disks > 1 {
        return Err(split(locator));
    }

    let bytes = tail.at(record, END_64_BYTES)?;
    let mut fields = Fields::new(&bytes, record, "64-bit end record");
    reaches(&mut fields, locator)
        .map_err(|error| shifted(tail, record, locator).unwrap_or(error))?;
    let _versions = fields.u32()?;
    let (disk, directory_disk) = (fields.u32()?, fields.u32()?);
    let (entries_here, entries) = (fields.u64()?, fields.u64()?);
    let (size, start) = (fields.u64()?, fields.u64()?);
    if disk != 0 || directory_disk != 0 || entries_here != entries {
        return Err(split(record));
    }
    Ok(Some((
        Directory {
            start,
            size,
            entries,
        },
        record,
    )))
}

/// Begins to read the 64-bit end record, which must end where its locator begins.
fn reaches(fields: &mut Fields<'_>, locator: u64) -> Result<()> {
    let at = fields.position();
    fields.signature(END_64)?;
    let rest = fields.u64()?;
    if fields.position().checked_add(rest) == Some(locator) {
        return Ok(());
    }
    Err(Error::malformed(format!(
        "expected the 64-bit end record of {rest} bytes to end at its locator, {locator:#x}"
    ))
    .at(at))
}

/// The error of an archive whose offsets are wrong because something was put in front of it: the
/// 64-bit end record is where it usually is, directly in front of its locator.
fn shifted(tail: &Tail<'_>, stated: u64, locator: u64) -> Option<Error> {
    let usual = locator.checked_sub(END_64_BYTES)?;
    let extra = usual.checked_sub(stated).filter(|extra| *extra > 0)?;
    Fields::new(&tail.at(usual, 4).ok()?, usual, "64-bit end record")
        .signature(END_64)
        .ok()?;
    Some(
        Error::malformed(format!(
            "expected the 64-bit end record at {stated:#x}, found it at {usual:#x}; {extra} bytes \
             that do not belong to the archive may be in front of it"
        ))
        .at(usual),
    )
}

/// The central directory must end where the end records begin, and begin with an entry.
fn check(tail: &Tail<'_>, directory: Directory, end: u64) -> Result<()> {
    let stated = directory.start.checked_add(directory.size);
    if stated != Some(end) {
        let mut what = format!(
            "expected the central directory to end at {end:#x}, where the end records begin, found \
             {:#x} + {:#x}",
            directory.start, directory.size
        );
        if let Some(extra) = stated.and_then(|stated| end.checked_sub(stated)) {
            what.push_str(&format!(
                "; {extra} bytes that do not belong to the archive may be in front of it"
            ));
        }
        return Err(Error::malformed(what).at(end));
    }
    if directory.entries > 0 {
        let bytes = tail.at(directory.start, 4)?;
        Fields::new(&bytes, directory.start, "central directory").signature(CENTRAL)?;
    }
    Ok(())
}

#[cold]
fn split(at: u64) -> Error {
    Error::unsupported("the archive is split over several files; join them first").at(at)
}
