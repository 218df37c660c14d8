//! Tar archives: the first versions of PyTorch wrote them, and so do some trainers today.

use bytes::Bytes;

use super::contents::{Place, Scanner};
use crate::failure::Failure;

/// Everything in a tar archive begins on a multiple of this.
const BLOCK: usize = 512;

/// Whether the bytes begin with a tar header: its checksum is right.
pub(super) fn is_tar(bytes: &Bytes) -> bool {
    bytes.get(..BLOCK).and_then(Header::parse).is_some()
}

impl Scanner {
    /// Looks into every entry of an archive, as Python's `tarfile` would find them.
    pub(super) fn tar(&mut self, bytes: &Bytes, place: &Place) {
        let mut at = 0_usize;
        let mut long_name = None;
        while let Some(block) = bytes.get(at..at.saturating_add(BLOCK)) {
            if block.iter().all(|&byte| byte == 0) {
                return;
            }
            let start = at + BLOCK;
            let header = Header::parse(block);
            let content = header.as_ref().and_then(|header| {
                let end = start.checked_add(header.size)?;
                (end <= bytes.len()).then(|| bytes.slice(start..end))
            });
            let (Some(header), Some(content)) = (header, content) else {
                let what = "the tar archive is cut short or damaged";
                let failure = Failure::new("malformed", what).at(Some(at as u64));
                return self.fail(failure, place);
            };
            match header.kind {
                b'0' | 0 | b'7' => {
                    let name = long_name.take().unwrap_or(header.name);
                    self.look(&content, &place.entry(&name));
                }
                b'L' => {
                    let name = content.split(|&byte| byte == 0).next().unwrap_or_default();
                    long_name = Some(String::from_utf8_lossy(name).into_owned());
                }
                // Links, devices and folders have no content; what describes the next entry does
                // not change where its content is.
                b'1'..=b'6' | b'K' => long_name = None,
                b'x' | b'g' if !sets_size(&content) => {}
                kind => {
                    let kind = char::from(kind).escape_default();
                    let message = format!("tar entries of the kind `{kind}` are not looked into");
                    self.fail(
                        Failure::new("unsupported", message),
                        &place.entry(&header.name),
                    );
                    return;
                }
            }
            at = start.saturating_add(header.size.next_multiple_of(BLOCK));
        }
    }
}

/// Whether an extended header gives the next entry another size than its own header does.
fn sets_size(content: &[u8]) -> bool {
    content
        .windows(6)
        .any(|window| window == b" size=" || window == b".size=")
}

/// What is needed of a header (POSIX.1-2001, `ustar` interchange format).
#[derive(Debug)]
struct Header {
    name: String,
    size: usize,
    kind: u8,
}

impl Header {
    fn parse(block: &[u8]) -> Option<Self> {
        let stated = octal(block.get(148..156)?)?;
        let sum = block.iter().enumerate().map(|(index, &byte)| match index {
            // The checksum is computed as if its own field were blank.
            148..156 => usize::from(b' '),
            _ => usize::from(byte),
        });
        if sum.sum::<usize>() != stated {
            return None;
        }
        let name = block.get(..100)?.split(|&byte| byte == 0).next()?;
        Some(Self {
            name: String::from_utf8_lossy(name).into_owned(),
            size: octal(block.get(124..136)?)?,
            kind: *block.get(156)?,
        })
    }
}

/// A number in octal digits, or in GNU's form for larger ones: bytes behind a set bit.
fn octal(field: &[u8]) -> Option<usize> {
    if let Some((0x80, digits)) = field.split_first() {
        return digits.iter().try_fold(0usize, |number, &byte| {
            number.checked_mul(256)?.checked_add(usize::from(byte))
        });
    }
    let text = std::str::from_utf8(field).ok()?;
    let digits = text.trim_matches([' ', '\0']);
    if digits.is_empty() {
        return Some(0);
    }
    usize::from_str_radix(digits, 8).ok()
}
