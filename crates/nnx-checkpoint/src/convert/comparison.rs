//! A file that is compared with the bytes that would be written.

use std::io::{self, Write};

use crate::error::Result;
use crate::source::ByteRange;
use crate::target_folder::PendingFile;

/// Takes bytes as a file does and compares each with the one that is there.
#[derive(Debug)]
pub(super) struct Comparison {
    there: ByteRange,
    position: u64,
    is_same: bool,
}

impl Comparison {
    /// A comparison with the bytes that are there.
    pub(super) fn new(there: ByteRange) -> Self {
        Self {
            there,
            position: 0,
            is_same: true,
        }
    }

    /// Whether all bytes that were written are the bytes that are there.
    pub(super) fn is_same(&self) -> bool {
        self.is_same && self.position == self.there.byte_len()
    }
}

impl Write for Comparison {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len() as u64;
        let range = self.there.slice(self.position, len);
        self.position = self.position.saturating_add(len);
        self.is_same = self.is_same
            && match range {
                Ok(range) => range.bytes().map_err(io::Error::other)? == bytes,
                // More is written than is there.
                Err(_) => false,
            };
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl PendingFile for Comparison {
    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn complete(self: Box<Self>, _: bool) -> Result<()> {
        Ok(())
    }
}
