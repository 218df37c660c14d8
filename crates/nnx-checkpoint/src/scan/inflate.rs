//! Compressed files that can be looked into: gzip and zlib, both of which are deflate inside.

use std::io::{self, Read};

use bytes::Bytes;
use flate2::read::{MultiGzDecoder, ZlibDecoder};

use super::entry_path::EntryPath;
use super::error::ScanError;
use super::scanner::{MAX_INFLATED_BYTES, Scanner};

/// The text in place of an archive entry's name.
const CONTENT: &str = "(inflated)";

impl Scanner {
    /// Looks into a file of gzip, all its members one behind the other.
    pub(super) fn gzip(&mut self, bytes: &Bytes, place: &EntryPath) {
        let (content, outcome) = self.inflated(MultiGzDecoder::new(&**bytes));
        self.look(&content.into(), &place.entry(CONTENT));
        if let Err(failure) = outcome {
            self.fail(failure, place);
        }
    }

    /// Looks into a stream of zlib. Two bytes are all that it is known by, which the numbers of an
    /// archive's entry may begin with by chance: there it must be sound.
    pub(super) fn zlib(&mut self, bytes: &Bytes, place: &EntryPath) {
        let (content, outcome) = self.inflated(ZlibDecoder::new(&**bytes));
        if outcome.is_err() && place.nesting > 0 {
            return;
        }
        self.look(&content.into(), &place.entry(CONTENT));
        if let Err(failure) = outcome {
            self.fail(failure, place);
        }
    }

    /// Looks into a stream of zlib whose beginning is that of a text as well, if it is sound.
    pub(super) fn zlib_or_text(&mut self, bytes: &Bytes, place: &EntryPath) {
        if let (content, Ok(())) = self.inflated(ZlibDecoder::new(&**bytes)) {
            self.look(&content.into(), &place.entry(CONTENT));
        }
    }

    /// The output of a decoder, up to its first error and up to the limit.
    fn inflated(&mut self, decoder: impl Read) -> (Vec<u8>, Result<(), ScanError>) {
        let allowed = MAX_INFLATED_BYTES.min(self.inflatable);
        let mut content = Vec::new();
        let read = decoder
            .take(allowed.saturating_add(1))
            .read_to_end(&mut content);
        let outcome = match read {
            Err(error) => Err(broken(&error)),
            Ok(_) if content.len() as u64 > allowed => Err(ScanError::new(
                "limit_exceeded",
                format!("it inflates to more than {allowed} bytes, which this command looks at"),
            )),
            Ok(_) => Ok(()),
        };
        self.inflatable = self.inflatable.saturating_sub(content.len() as u64);
        (content, outcome)
    }
}

fn broken(error: &io::Error) -> ScanError {
    let message = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the compressed file is cut short".to_owned(),
        _ => format!("the compressed file is broken: {error}"),
    };
    ScanError::new("malformed", message)
}
