//! The bytes of a `.metadata`, a piece of which is in memory at a time.

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::source::{ByteRange, CHUNK_BYTES};

/// A cursor over a pickle that may be of hundreds of megabytes.
pub(super) struct MetadataInput<'a> {
    range: &'a ByteRange,
    /// The piece in memory, and where in the file it begins.
    piece: Bytes,
    piece_start: u64,
    position: u64,
    /// Where the opcode began that is being read.
    start: u64,
}

impl<'a> MetadataInput<'a> {
    pub(super) fn new(range: &'a ByteRange) -> Self {
        Self {
            range,
            piece: Bytes::new(),
            piece_start: 0,
            position: 0,
            start: 0,
        }
    }

    /// Where the opcode began that is being read.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// The next opcode.
    pub(super) fn opcode(&mut self) -> Result<u8> {
        self.start = self.position;
        self.byte()
    }

    fn byte(&mut self) -> Result<u8> {
        let within = self.position.checked_sub(self.piece_start);
        let within = within.and_then(|within| usize::try_from(within).ok());
        let byte = match within.and_then(|within| self.piece.get(within)) {
            Some(&byte) => byte,
            None => {
                let most = CHUNK_BYTES as u64;
                let left = self.range.byte_len().saturating_sub(self.position);
                let piece = self.range.slice(self.position, most.min(left))?;
                self.piece = piece.copied()?;
                self.piece_start = self.position;
                *self.piece.first().ok_or_else(|| self.ended(1))?
            }
        };
        self.position = self.position.saturating_add(1);
        Ok(byte)
    }

    /// A number of that many bytes, at most eight, without a sign.
    pub(super) fn unsigned(&mut self, len: u64) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(8).zip(0..len).map(|(shift, _)| shift) {
            value |= u64::from(self.byte()?) << shift;
        }
        Ok(value)
    }

    /// [`unsigned`](Self::unsigned) as a number with a sign, whose highest bits are not filled up.
    pub(super) fn number(&mut self, len: u64) -> Result<i64> {
        self.unsigned(len).map(u64::cast_signed)
    }

    /// Passes over bytes.
    pub(super) fn skip(&mut self, len: u64) -> Result<()> {
        let end = self.position.checked_add(len);
        let end = end.filter(|&end| end <= self.range.byte_len());
        self.position = end.ok_or_else(|| self.ended(len))?;
        Ok(())
    }

    /// Checks that so many bytes follow.
    pub(super) fn require(&self, len: u64) -> Result<()> {
        let left = self.range.byte_len().saturating_sub(self.position);
        if len > left {
            return Err(self.ended(len));
        }
        Ok(())
    }

    /// The next bytes.
    pub(super) fn take(&mut self, len: u64) -> Result<Vec<u8>> {
        self.require(len)?;
        (0..len).map(|_| self.byte()).collect()
    }

    /// The next line, without its newline.
    pub(super) fn line(&mut self, most: u64) -> Result<String> {
        let mut line = Vec::new();
        for _ in 0..most {
            match self.byte()? {
                b'\n' => {
                    let text = String::from_utf8(line);
                    return text.map_err(|_| Error::malformed("a name that is not UTF-8"));
                }
                byte => line.push(byte),
            }
        }
        Err(Error::malformed(format!(
            "a name of more than {most} bytes"
        )))
    }

    #[cold]
    fn ended(&self, needed: u64) -> Error {
        Error::malformed(format!(
            "the pickle breaks off: {needed} bytes are needed at byte {} of {}",
            self.position,
            self.range.byte_len()
        ))
    }
}
