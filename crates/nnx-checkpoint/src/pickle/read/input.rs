//! The bytes of a pickle, opcode by opcode.

use super::super::opcode;
use crate::{Error, Result};

/// A cursor that knows the opcode it is in, for the sake of its errors.
pub(super) struct Input<'a> {
    bytes: &'a [u8],
    position: usize,
    start: usize,
    opcode: u8,
    /// The limit and the whole length, where the limit hides bytes.
    cut: Option<(u64, u64)>,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8], limit: u64) -> Self {
        let shown = usize::try_from(limit)
            .ok()
            .and_then(|limit| bytes.get(..limit));
        Self {
            bytes: shown.unwrap_or(bytes),
            position: 0,
            start: 0,
            opcode: 0,
            cut: shown
                .filter(|shown| shown.len() < bytes.len())
                .map(|_| (limit, bytes.len() as u64)),
        }
    }

    /// Where the next byte is.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Where the current opcode is.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// The current opcode's name.
    pub(super) fn name(&self) -> &'static str {
        opcode::name(self.opcode).unwrap_or("unknown opcode")
    }

    /// Goes on to the next opcode.
    pub(super) fn opcode(&mut self) -> Result<u8> {
        self.start = self.position;
        let Some(&opcode) = self.bytes.get(self.position) else {
            return Err(self.ended(|| {
                "expected an opcode, found the end of the bytes before `STOP`".to_owned()
            }));
        };
        self.opcode = opcode;
        self.position = self.position.saturating_add(1);
        Ok(opcode)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.rest().first_chunk() {
            Some(&array) => {
                self.position = self.position.saturating_add(N);
                Ok(array)
            }
            None => Err(self.short(N as u64)),
        }
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The next `length` bytes, if there are so many.
    pub(super) fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let taken = usize::try_from(length)
            .ok()
            .and_then(|length| self.rest().get(..length));
        match taken {
            Some(taken) => {
                self.position = self.position.saturating_add(taken.len());
                Ok(taken)
            }
            None => Err(self.short(length)),
        }
    }

    /// Checks that `length` bytes follow.
    pub(super) fn require(&self, length: u64) -> Result<()> {
        if length <= self.rest().len() as u64 {
            Ok(())
        } else {
            Err(self.short(length))
        }
    }

    /// The next line, without its newline.
    pub(super) fn line(&mut self) -> Result<&'a [u8]> {
        let rest = self.rest();
        let length = rest.iter().position(|&byte| byte == b'\n');
        match length.and_then(|length| rest.get(..length)) {
            Some(line) => {
                self.position = self.position.saturating_add(line.len()).saturating_add(1);
                Ok(line)
            }
            None => Err(self.ended(|| {
                format!(
                    "`{}` needs a line, found {} bytes without a newline",
                    self.name(),
                    rest.len()
                )
            })),
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.position..).unwrap_or(&[])
    }

    #[cold]
    fn short(&self, needed: u64) -> Error {
        self.ended(|| {
            format!(
                "`{}` needs {needed} more bytes, found {}",
                self.name(),
                self.rest().len()
            )
        })
    }

    /// The error at the end of the bytes: they end, or the limit hides the others.
    #[cold]
    fn ended(&self, what: impl FnOnce() -> String) -> Error {
        match self.cut {
            Some((limit, length)) => Error::limit("max_pickle_bytes", limit, length),
            None => Error::malformed(what()),
        }
    }
}
