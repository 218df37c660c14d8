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
const LOCATOR_LEN: usize = 20;
const WIDE_END_LEN: usize = 56;
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
        for entry in entries {
            let mut place = place.entry(entry.name());
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

/// An archive that ends the bytes but does not begin them, as in a file that is two things at once.
pub(super) fn at_the_end(bytes: &Bytes) -> Option<Bytes> {
    let from = bytes.len().saturating_sub(END_LEN + usize::from(u16::MAX));
    let tail = bytes.get(from..)?;
    let end = from + tail.windows(END.len()).rposition(|window| window == END)?;
    let record = bytes.get(end..end.checked_add(END_LEN)?)?;
    let number = |at: usize| {
        let field = record.get(at..)?.first_chunk::<4>()?;
        usize::try_from(u32::from_le_bytes(*field)).ok()
    };
    let comment = usize::from(u16::from_le_bytes(*record.last_chunk::<2>()?));
    if end + END_LEN + comment != bytes.len() {
        return None;
    }
    let is_wide = end
        .checked_sub(LOCATOR_LEN)
        .and_then(|locator| bytes.get(locator..))
        .is_some_and(|bytes| bytes.starts_with(LOCATOR));
    let records = if is_wide {
        LOCATOR_LEN + WIDE_END_LEN
    } else {
        0
    };
    let directory = number(12)?.checked_add(number(16)?)?;
    let start = end.checked_sub(records)?.checked_sub(directory)?;
    let archive = bytes.slice(start..);
    archive.starts_with(b"PK\x03\x04").then_some(archive)
}
