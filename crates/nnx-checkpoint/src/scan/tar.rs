//! Tar archives: the first versions of PyTorch wrote them, and so do some trainers today.

use bytes::Bytes;

use super::entry_path::EntryPath;
use super::error::ScanError;
use super::scanner::Scanner;
use crate::tar::{BLOCK, TarHeader};

/// Properties of entries whose content is not judged.
const OTHER_SIZE: &str = "whose extended header gives them another size";
const HOLES: &str = "with holes";

impl Scanner {
    /// Looks into every entry of an archive, as Python's `tarfile` would find them.
    pub(super) fn tar(&mut self, bytes: &Bytes, place: &EntryPath) {
        let mut at = 0_usize;
        let mut long_name = None;
        while let Some(block) = bytes.get(at..at.saturating_add(BLOCK)) {
            if block.iter().all(|&byte| byte == 0) {
                return;
            }
            let start = at.saturating_add(BLOCK);
            let header = TarHeader::parse(block);
            let content = header.as_ref().and_then(|header| {
                let end = start.checked_add(header.content_len()?)?;
                (end <= bytes.len()).then(|| bytes.slice(start..end))
            });
            let (Some(header), Some(content)) = (header, content) else {
                let what = "the tar archive is cut short or damaged";
                let failure = ScanError::new("malformed", what).at(Some(at as u64));
                return self.fail(failure, place);
            };
            let name = long_name.take().unwrap_or_else(|| header.name.clone());
            match header.kind {
                b'L' => {
                    let name = content.split(|&byte| byte == 0).next().unwrap_or_default();
                    long_name = Some(String::from_utf8_lossy(name).into_owned());
                }
                // An entry that describes the next one says nothing of where the content is.
                b'K' => long_name = Some(name),
                b'x' | b'g' | b'X' => {
                    long_name = Some(name.clone());
                    if let Some(what) = changes_content(&content) {
                        self.refuse_tar(what, &place.entry(&name));
                        if what == OTHER_SIZE {
                            return;
                        }
                    }
                }
                b'S' => return self.refuse_tar(HOLES, &place.entry(&name)),
                // To `tarfile` a kind that it does not know is a file.
                _ => self.look(&content, &place.entry(&name)),
            }
            at = start.saturating_add(content.len().next_multiple_of(BLOCK));
        }
    }

    fn refuse_tar(&mut self, what: &str, place: &EntryPath) {
        let message = format!("tar entries {what} are not looked into");
        self.fail(ScanError::new("unsupported", message), place);
    }
}

/// The size that an extended header states for the next entry, if it states one.
fn changes_content(records: &[u8]) -> Option<&'static str> {
    let holds = |key: &[u8]| records.windows(key.len()).any(|window| window == key);
    if holds(b" size=") {
        Some(OTHER_SIZE)
    } else {
        holds(b"GNU.sparse.").then_some(HOLES)
    }
}
