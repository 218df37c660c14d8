//! The central directory: every entry's name, sizes and place.

use std::sync::Arc;

use super::entry::{DEFLATED, ZipEntry};
use super::eocd::Directory;
use super::fields::{
    CENTRAL, CENTRAL_BYTES, Fields, LOCAL_BYTES, SATURATED, SATURATED_16, extra_64,
};
use crate::Limits;
use crate::error::{Error, Result, shown_bytes};
use crate::source::ByteRange;

/// Reads all entries. No byte outside the directory is read.
pub(super) fn read(
    source: &ByteRange,
    directory: Directory,
    limits: &Limits,
) -> Result<Vec<ZipEntry>> {
    if directory.entries > limits.max_zip_entries {
        return Err(Error::limit(
            "max_zip_entries",
            limits.max_zip_entries,
            directory.entries,
        ));
    }
    let room = directory.size / CENTRAL_BYTES;
    let count = usize::try_from(directory.entries.min(room)).unwrap_or_default();
    if directory.entries > room {
        return Err(Error::malformed(format!(
            "the central directory of {} bytes has no room for its {} entries",
            directory.size, directory.entries
        ))
        .at(directory.start));
    }
    let bytes = source.read_up_to(directory.start, directory.size)?;
    let mut fields = Fields::new(&bytes, directory.start, "central directory");
    // So many headers do fit into the bytes that are there.
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        entries.push(header(&mut fields)?);
    }
    if fields.len() > 0 {
        return Err(Error::malformed(format!(
            "{} bytes follow the {count} entries of the central directory",
            fields.len()
        ))
        .at(fields.position()));
    }
    bound(&mut entries, directory.start)?;
    check_inflated(&entries, limits)?;
    Ok(entries)
}

fn header(fields: &mut Fields<'_>) -> Result<ZipEntry> {
    let at = fields.position();
    fields.signature(CENTRAL)?;
    let _versions = fields.u32()?;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    let _time = fields.u32()?;
    let crc = fields.u32()?;
    let (compressed, size) = (fields.u32()?, fields.u32()?);
    let (name, extra, comment) = (fields.u16()?, fields.u16()?, fields.u16()?);
    let disk = fields.u16()?;
    let _internal = fields.u16()?;
    let _external = fields.u32()?;
    let offset = fields.u32()?;
    let name = fields.take(name.into())?;
    let extra = fields.section(extra.into(), "extra fields")?;
    let _comment = fields.take(comment.into())?;

    let Ok(name) = str::from_utf8(name) else {
        return Err(Error::malformed(format!(
            "expected an entry name in UTF-8, found `{}`",
            shown_bytes(name)
        ))
        .at(at));
    };
    let mut entry = ZipEntry {
        name: Arc::from(name),
        flags,
        method,
        crc,
        compressed: compressed.into(),
        size: size.into(),
        header: offset.into(),
        bound: 0,
    };
    let is_far_disk = disk == SATURATED_16;
    let mut disk = u32::from(disk);
    let wanted = size == SATURATED || compressed == SATURATED || offset == SATURATED || is_far_disk;
    if wanted {
        let mut numbers = extra_64(extra)?.ok_or_else(|| {
            Error::malformed(
                "expected an extra field with 64-bit numbers, to which the entry points",
            )
            .in_entry(name)
        })?;
        // Only what the header leaves open is there, in this order (APPNOTE 4.5.3).
        if size == SATURATED {
            entry.size = numbers.u64()?;
        }
        if compressed == SATURATED {
            entry.compressed = numbers.u64()?;
        }
        if offset == SATURATED {
            entry.header = numbers.u64()?;
        }
        if is_far_disk {
            disk = numbers.u32()?;
        }
    }
    if disk != 0 {
        return Err(
            Error::unsupported("the entry is in another file of a split archive").in_entry(name),
        );
    }
    Ok(entry)
}

/// Checks what all deflated entries state together: each may inflate to that and no more.
fn check_inflated(entries: &[ZipEntry], limits: &Limits) -> Result<()> {
    let inflated = entries
        .iter()
        .filter(|entry| entry.method == DEFLATED)
        .fold(0u64, |sum, entry| sum.saturating_add(entry.size));
    if inflated > limits.max_inflated_bytes {
        return Err(Error::limit(
            "max_inflated_bytes",
            limits.max_inflated_bytes,
            inflated,
        ));
    }
    Ok(())
}

/// Checks that the entries follow one another, from the file's first byte to the central
/// directory, and notes for each where the next begins.
fn bound(entries: &mut [ZipEntry], directory: u64) -> Result<()> {
    let mut order: Vec<&mut ZipEntry> = entries.iter_mut().collect();
    order.sort_by_key(|entry| entry.header);
    if let Some(first) = order.first().filter(|first| first.header != 0) {
        return Err(Error::malformed(format!(
            "expected the archive to begin with the file, found its first entry behind {} bytes",
            first.header
        ))
        .in_entry(&first.name));
    }
    let mut bound = directory;
    for entry in order.into_iter().rev() {
        // The extra fields of the local header are not known yet; the known fields must fit.
        let end = entry
            .header
            .checked_add(LOCAL_BYTES)
            .and_then(|end| end.checked_add(entry.name.len() as u64))
            .and_then(|end| end.checked_add(entry.compressed));
        if end.is_none_or(|end| end > bound) {
            return Err(Error::malformed(format!(
                "expected the entry's {} bytes to end before {bound:#x}, where the next entry or \
                 the central directory begins",
                entry.compressed
            ))
            .in_entry(&entry.name));
        }
        entry.bound = bound;
        bound = entry.header;
    }
    Ok(())
}
