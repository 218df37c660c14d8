//! The bytes written so far, in frames from protocol 4 on.

use super::super::opcode;

/// A frame is closed at the first opcode boundary at which it holds so much.
const FRAME_TARGET: usize = 64 * 1024;
/// A frame that holds less has no header.
const FRAME_MIN: usize = 4;
/// The opcode `FRAME` and the length.
const FRAME_HEADER: usize = 9;

/// A buffer as CPython's C pickler has one.
#[derive(Default)]
pub(super) struct Output {
    bytes: Vec<u8>,
    framing: bool,
    /// Where the header of the open frame is.
    frame: Option<usize>,
}

impl Output {
    pub(super) fn begin_framing(&mut self) {
        self.framing = true;
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        if self.framing && self.frame.is_none() {
            self.frame = Some(self.bytes.len());
            self.bytes.extend_from_slice(&[0; FRAME_HEADER]);
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes an opcode and its payload; a large one is outside of all frames.
    pub(super) fn write_payload(&mut self, header: &[u8], payload: &[u8]) {
        let framing = self.framing;
        if payload.len() >= FRAME_TARGET {
            self.close_frame();
            self.framing = false;
        }
        self.write(header);
        self.write(payload);
        self.framing = framing;
    }

    /// Closes a frame that is full; to be called before each object.
    pub(super) fn boundary(&mut self) {
        if self
            .frame_len()
            .is_some_and(|length| length >= FRAME_TARGET)
        {
            self.close_frame();
        }
    }

    pub(super) fn close_frame(&mut self) {
        let (Some(start), Some(length)) = (self.frame, self.frame_len()) else {
            return;
        };
        self.frame = None;
        let content = start.saturating_add(FRAME_HEADER);
        if length < FRAME_MIN {
            self.bytes.drain(start..content);
        } else if let Some([first, rest @ ..]) = self.bytes.get_mut(start..content) {
            *first = opcode::FRAME;
            rest.copy_from_slice(&(length as u64).to_le_bytes());
        }
    }

    /// The contents of the open frame.
    fn frame_len(&self) -> Option<usize> {
        let content = self.frame?.saturating_add(FRAME_HEADER);
        Some(self.bytes.len().saturating_sub(content))
    }
}
