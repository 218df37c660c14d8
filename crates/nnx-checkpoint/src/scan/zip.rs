//! Zip archives of any kind: of PyTorch, of NumPy, of TorchScript, of `torch.package`.

use bytes::Bytes;

use super::entry_path::EntryPath;
use super::error::ScanError;
use super::scanner::Scanner;
use crate::torch::{is_package, is_script};
use crate::zip::{ZipArchive, ZipEntry};

impl Scanner {
    /// Looks into every entry of an archive.
    pub(super) fn zip(&mut self, bytes: &Bytes, place: &EntryPath) {
        let archive = match ZipArchive::parse(bytes, &self.limits) {
            Ok(archive) => archive,
            Err(error) => return self.fail(error, place),
        };
        let entries = archive.entries();
        let (is_package, is_script) = (is_package(&archive), is_script(&archive));
        let is_checkpoint = entries
            .iter()
            .any(|entry| entry.name().ends_with("/data.pkl"));
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

    /// The content of an entry, whatever its checksum: Python may not look at it either.
    fn content(&mut self, archive: &ZipArchive, entry: &ZipEntry) -> Result<Bytes, ScanError> {
        if !entry.is_stored() {
            self.inflatable = self.inflatable.checked_sub(entry.size()).ok_or_else(|| {
                ScanError::new(
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
