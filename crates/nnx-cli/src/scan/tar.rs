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

/// What entries are like that are not looked into.
const OTHER_SIZE: &str = "whose extended header gives them another size";
const HOLES: &str = "with holes";

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
                let end = start.checked_add(header.content_len()?)?;
                (end <= bytes.len()).then(|| bytes.slice(start..end))
            });
            let (Some(header), Some(content)) = (header, content) else {
                let what = "the tar archive is cut short or damaged";
                let failure = Failure::new("malformed", what).at(Some(at as u64));
                return self.fail(failure, place);
            };
            let name = long_name.take().unwrap_or_else(|| header.name.clone());
            match header.kind {
                b'L' => {
                    let name = content.split(|&byte| byte == 0).next().unwrap_or_default();
                    long_name = Some(String::from_utf8_lossy(name).into_owned());
                }
                // What describes the next entry says nothing of where its content is.
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

    fn refuse_tar(&mut self, what: &str, place: &Place) {
        let message = format!("tar entries {what} are not looked into");
        self.fail(Failure::new("unsupported", message), place);
    }
}

/// What an extended header says of the next entry's content, if it says anything.
fn changes_content(records: &[u8]) -> Option<&'static str> {
    let holds = |key: &[u8]| records.windows(key.len()).any(|window| window == key);
    if holds(b" size=") {
        Some(OTHER_SIZE)
    } else {
        holds(b"GNU.sparse.").then_some(HOLES)
    }
}

/// What is needed of a header (POSIX.1-2001, `ustar` interchange format).
#[derive(Debug)]
struct Header {
    name: String,
    /// The number that it states, which may be less than nothing.
    size: i128,
    kind: u8,
}

impl Header {
    fn parse(block: &[u8]) -> Option<Self> {
        let stated = number(block.get(148..156)?)?;
        // The checksum is computed as if its own field were blank, of bytes or of signed ones.
        let blank = i128::from(b' ') * 8;
        let counted = || [block.get(..148), block.get(156..)].into_iter().flatten();
        let sum: i128 = counted().flatten().map(|&byte| i128::from(byte)).sum();
        let signed: i128 = counted()
            .flatten()
            .map(|&byte| i128::from(byte.cast_signed()))
            .sum();
        if stated != blank + sum && stated != blank + signed {
            return None;
        }
        let name = block.get(..100)?.split(|&byte| byte == 0).next()?;
        Some(Self {
            name: String::from_utf8_lossy(name).into_owned(),
            size: number(block.get(124..136)?)?,
            kind: *block.get(156)?,
        })
    }

    /// How many bytes follow, the last block of them filled up: none for links, devices and folders,
    /// whatever their header states.
    fn content_len(&self) -> Option<usize> {
        let is_folder = self.kind == 0 && self.name.ends_with('/');
        match self.kind {
            b'1'..=b'6' => Some(0),
            _ if is_folder => Some(0),
            _ => usize::try_from(self.size).ok(),
        }
    }
}

/// A number as `tarfile` reads it: in octal digits as Python's `int(text, 8)` takes them, up to a
/// zero byte, or in GNU's form for others, bytes behind one that no text begins with.
fn number(field: &[u8]) -> Option<i128> {
    if let Some((&first @ (0x80 | 0xff), digits)) = field.split_first() {
        let size = digits.iter().try_fold(0_i128, |number, &byte| {
            number.checked_mul(256)?.checked_add(i128::from(byte))
        })?;
        let is_negative = first == 0xff;
        let all = 1_i128.checked_shl(u32::try_from(digits.len()).ok()? * 8)?;
        return Some(if is_negative { size - all } else { size });
    }
    let text = field.split(|&byte| byte == 0).next()?;
    let text = std::str::from_utf8(text).ok()?;
    let text = text.trim_matches(|character: char| {
        // What Python's `str.strip` takes for white space in ASCII.
        matches!(character, '\t'..='\r' | '\x1c'..='\x1f' | ' ')
    });
    if text.is_empty() {
        return Some(0);
    }
    let (sign, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    let digits = match digits {
        [b'0', b'o' | b'O', b'_', digits @ ..] | [b'0', b'o' | b'O', digits @ ..] => digits,
        digits => digits,
    };
    let digits = std::str::from_utf8(digits).ok()?;
    let is_open = |digits: &str| digits.starts_with('_') || digits.ends_with('_');
    if is_open(digits) || digits.contains("__") || digits.starts_with('+') {
        return None;
    }
    let number = i128::from_str_radix(&digits.replace('_', ""), 8).ok()?;
    Some(sign * number)
}
