//! The local header in front of an entry's bytes.

use super::entry::ZipEntry;
use super::fields::{
    DEFERRED, ENCRYPTED, Fields, LOCAL, LOCAL_BYTES, MASKED, SATURATED, STRONGLY_ENCRYPTED,
    extra_64,
};
use crate::error::{Error, Result, shown, shown_bytes};

/// Bytes that a local header can take: no more than there are in front of the content.
pub(super) fn header_len(entry: &ZipEntry) -> u64 {
    let least = LOCAL_BYTES.saturating_add(entry.name.len() as u64);
    let most = least.saturating_add(u16::MAX.into());
    let room = entry.bound.saturating_sub(entry.header);
    room.saturating_sub(entry.compressed).clamp(least, most)
}

/// Where the content of an entry begins, counted from the local header, as errors are; `own` are the
/// bytes from there on.
///
/// The local header must say what the central directory says, because a reader that believes the
/// one and a checker that believes the other would see two different files.
pub(super) fn content(own: &[u8], entry: &ZipEntry) -> Result<usize> {
    let mut fields = Fields::new(own, 0, "local header");
    fields.signature(LOCAL)?;
    let _version = fields.u16()?;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    let _time = fields.u32()?;
    let crc = fields.u32()?;
    let (compressed, size) = (fields.u32()?, fields.u32()?);
    let (name, extra) = (fields.u16()?, fields.u16()?);
    let header = content_start(entry, name, extra)?;
    let name = fields.take(name.into())?;
    let extra = fields.section(extra.into(), "extra fields")?;

    const COMPARED: u16 = ENCRYPTED | DEFERRED | STRONGLY_ENCRYPTED | MASKED;
    for (what, local, central) in [
        ("flags", flags & COMPARED, entry.flags & COMPARED),
        ("method", method, entry.method),
    ] {
        if local != central {
            return Err(differs(what, local.into(), central.into()));
        }
    }
    if name != entry.name.as_bytes() {
        return Err(Error::malformed(format!(
            "the local header has the name `{}`, the central directory `{}`",
            shown_bytes(name),
            shown(&entry.name)
        )));
    }
    let mut numbers = if compressed == SATURATED || size == SATURATED {
        extra_64(extra)?
    } else {
        None
    };
    let mut long = |short: u32| match &mut numbers {
        Some(numbers) if short == SATURATED => numbers.u64(),
        _ => Ok(short.into()),
    };
    let (size, compressed) = (long(size)?, long(compressed)?);
    for (what, local, central) in [
        ("checksum", crc.into(), entry.crc.into()),
        ("compressed size", compressed, entry.compressed),
        ("size", size, entry.size),
    ] {
        // A header written before its content leaves the numbers at zero.
        let is_open = flags & DEFERRED != 0 && local == 0;
        if local != central && !is_open {
            return Err(differs(what, local, central));
        }
    }

    Ok(header)
}

/// Where the content begins behind a header with a name and extra fields of these lengths.
fn content_start(entry: &ZipEntry, name: u16, extra: u16) -> Result<usize> {
    let parts = [LOCAL_BYTES, name.into(), extra.into()];
    let header = parts.into_iter().fold(0, u64::saturating_add);
    let start = entry.header.checked_add(header);
    let end = start.and_then(|start| start.checked_add(entry.compressed));
    match end {
        Some(end) if end <= entry.bound => usize::try_from(header).ok(),
        _ => None,
    }
    .ok_or_else(|| {
        Error::malformed(format!(
            "{} bytes behind a local header of {header} reach into the next entry or the central \
             directory, which begins {} bytes behind the local header's first",
            entry.compressed,
            entry.bound.saturating_sub(entry.header)
        ))
    })
}

#[cold]
fn differs(what: &str, local: u64, central: u64) -> Error {
    Error::malformed(format!(
        "the local header has the {what} {local}, the central directory {central}"
    ))
}
