//! Zip archives of any kind: of PyTorch, of NumPy, of TorchScript, of `torch.package`.

use bytes::Bytes;
use nnx::checkpoint::zip::{ZipArchive, ZipEntry};

use super::contents::{Place, Scanner};
use crate::failure::Failure;

/// The end record of a zip archive, and its length without the comment (APPNOTE 4.3.16).
const END: &[u8] = b"PK\x05\x06";
const END_LEN: usize = 22;
/// What stands before it where numbers may have 64 bits: another end record, and the locator of
/// that (APPNOTE 4.3.14 and 4.3.15).
const LOCATOR: &[u8] = b"PK\x06\x07";
const WIDE_END: &[u8] = b"PK\x06\x06";
const LOCATOR_LEN: usize = 20;
const WIDE_END_LEN: usize = 56;
/// The beginning of the directory, which is that of its first entry (APPNOTE 4.3.12).
const MEMBER: &[u8] = b"PK\x01\x02";
/// Bytes behind an end record in which `zipfile` still finds it.
const REACH: usize = 1 << 16;
/// The entry by which an archive of `torch.package` is known, below the root folder.
const PACKAGE_MARK: &str = "/.data/extern_modules";

impl Scanner {
    /// Looks into every entry of an archive.
    pub(super) fn zip(&mut self, bytes: &Bytes, place: &Place) {
        let archive = match ZipArchive::parse(bytes, &self.limits) {
            Ok(archive) => archive,
            Err(error) => return self.fail(error, place),
        };
        let entries = archive.entries();
        let is_package = entries
            .iter()
            .any(|entry| entry.name().ends_with(PACKAGE_MARK));
        let is_checkpoint = entries
            .iter()
            .any(|entry| entry.name().ends_with("/data.pkl"));
        let is_script = entries
            .iter()
            .any(|entry| entry.name().ends_with("/constants.pkl"));
        for entry in entries {
            let mut place = place.entry(entry.name());
            place.is_script = is_script && entry.name().ends_with(".pkl");
            place.is_storage = is_checkpoint && is_storage(entry.name());
            if is_package && entry.name().ends_with(".py") {
                // An importer of the package runs it.
                self.find(&module_of(entry.name()), "<source>", None, &place);
            }
            match self.content(&archive, entry) {
                Ok(content) => self.look(&content, &place),
                Err(failure) => self.fail(failure, &place),
            }
        }
    }

    /// What an entry holds, whatever its checksum: Python may not look at it either.
    fn content(&mut self, archive: &ZipArchive, entry: &ZipEntry) -> Result<Bytes, Failure> {
        if !entry.is_stored() {
            self.inflatable = self.inflatable.checked_sub(entry.size()).ok_or_else(|| {
                Failure::new(
                    "limit_exceeded",
                    "the entries inflate to more than this command looks at",
                )
            })?;
        }
        Ok(archive.data_unverified(entry)?)
    }
}

/// Whether an entry of a checkpoint is a storage by its name, `ROOT/data/NUMBER`.
fn is_storage(entry: &str) -> bool {
    let mut parts = entry.rsplitn(3, '/');
    let (key, folder) = (parts.next(), parts.next());
    folder == Some("data")
        && key.is_some_and(|key| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The module that a source file of a package is, without the archive's root folder.
fn module_of(entry: &str) -> String {
    let path = entry.split_once('/').map_or(entry, |(_, path)| path);
    path.trim_end_matches(".py").replace('/', ".")
}

/// The archive that Python's `zipfile` finds in bytes that do not begin with one, as in a file that
/// is two things at once: it takes the last end record within reach, whatever follows it, and the
/// directory in front of that.
///
/// # Errors
/// When there is a directory, but it does not say where in the bytes the archive begins.
pub(super) fn behind_others(bytes: &Bytes) -> Result<Option<Bytes>, Failure> {
    let Some(found) = Found::in_bytes(bytes) else {
        return Ok(None);
    };
    let start = found.directory.checked_sub(found.stated_start);
    match start.zip(bytes.get(..found.end)) {
        Some((start, _)) => Ok(Some(bytes.slice(start..found.end))),
        None => {
            let message = "a zip archive lies within the bytes, which its end record does not fit";
            Err(Failure::new("malformed", message))
        }
    }
}

/// The directory of an archive and its end.
struct Found {
    directory: usize,
    /// Where the directory begins by the end record, counted from the archive's start.
    stated_start: usize,
    /// The end of the archive, behind its comment.
    end: usize,
}

impl Found {
    fn in_bytes(bytes: &[u8]) -> Option<Self> {
        let from = bytes.len().saturating_sub(END_LEN + REACH);
        let tail = bytes.get(from..)?;
        let at = from + tail.windows(END.len()).rposition(|window| window == END)?;
        let record = bytes.get(at..at.checked_add(END_LEN)?)?;
        let comment = usize::from(u16::from_le_bytes(*record.last_chunk::<2>()?));
        let (size, stated_start, records) = match wide_end(bytes, at) {
            Some((size, start)) => (size, start, LOCATOR_LEN + WIDE_END_LEN),
            None => (
                u64::from(u32_at(record, 12)?),
                u64::from(u32_at(record, 16)?),
                0,
            ),
        };
        let directory = at.checked_sub(records)?;
        let directory = directory.checked_sub(usize::try_from(size).ok()?)?;
        let is_directory = bytes.get(directory..)?.starts_with(MEMBER);
        is_directory.then_some(Self {
            directory,
            stated_start: usize::try_from(stated_start).unwrap_or(usize::MAX),
            end: at + END_LEN + comment,
        })
    }
}

/// Size and start of the directory by the 64-bit end record, if there is one.
fn wide_end(bytes: &[u8], end: usize) -> Option<(u64, u64)> {
    let locator = end.checked_sub(LOCATOR_LEN)?;
    let record = bytes.get(locator.checked_sub(WIDE_END_LEN)?..locator)?;
    let is_there = bytes.get(locator..)?.starts_with(LOCATOR) && record.starts_with(WIDE_END);
    let number = |at: usize| Some(u64::from_le_bytes(*record.get(at..)?.first_chunk()?));
    is_there.then_some((number(40)?, number(48)?))
}

fn u32_at(record: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*record.get(at..)?.first_chunk()?))
}
