//! Reading a chunk.

use super::super::{Storage, StoredRange};
use super::OpenedChunk;
use super::elements::Elements;
use super::parts::Parts;
use super::runs::Runs;
use crate::Limits;
use crate::error::{Error, Result};
use crate::source::CHUNK_BYTES;

/// Bytes of all chunks together that are read ahead, and the least and the most for one of them.
const READ_AHEAD_BYTES: usize = 4 << 20;
const LEAST_READ_AHEAD: usize = 4 << 10;
const MOST_READ_AHEAD: usize = 256 << 10;

/// Chunks from this size on are handed on as ranges, if they are.
const LARGE_RANGE: usize = 1 << 20;

/// How many bytes each of so many chunks may read ahead.
pub(super) fn read_ahead(chunks: usize) -> usize {
    READ_AHEAD_BYTES
        .checked_div(chunks)
        .unwrap_or(MOST_READ_AHEAD)
        .clamp(LEAST_READ_AHEAD, MOST_READ_AHEAD)
}

/// A chunk that is read front to back.
pub(super) struct ChunkReader {
    pub(super) runs: Runs,
    elements: Elements,
    /// Bytes of the chunk that were read so far.
    read: usize,
    /// What was read ahead, and how much of it was used.
    buffer: Vec<u8>,
    used: usize,
    ahead: usize,
    hasher: Option<crc32fast::Hasher>,
}

impl ChunkReader {
    pub(super) fn new(chunk: OpenedChunk, ahead: usize) -> Self {
        let is_checked =
            matches!(&chunk.elements, Elements::Stored(stored) if stored.checksum().is_some());
        Self {
            runs: chunk.runs,
            elements: chunk.elements,
            read: 0,
            buffer: Vec::new(),
            used: 0,
            ahead,
            hasher: is_checked.then(crc32fast::Hasher::new),
        }
    }

    /// The chunk as one range, if it is large and goes to one place as it is.
    pub(super) fn large_range(&self) -> Option<&StoredRange> {
        let is_one = self.runs.len == self.runs.total && self.runs.len >= LARGE_RANGE;
        match &self.elements {
            Elements::Stored(stored) if is_one => Some(stored),
            _ => None,
        }
    }

    /// Copies the next run.
    pub(super) fn copy_run(&mut self, out: &mut Parts<'_>) -> Result<()> {
        let mut left = self.runs.len;
        while left > 0 {
            if self.used >= self.buffer.len() {
                self.fill(left)?;
            }
            let rest = self.buffer.get(self.used..).unwrap_or_default();
            let now = rest.get(..left.min(rest.len())).unwrap_or_default();
            out.put(now)?;
            self.used = self.used.saturating_add(now.len());
            left = left.saturating_sub(now.len());
        }
        Ok(())
    }

    /// Reads on, `wanted` bytes or as far ahead as is allowed.
    fn fill(&mut self, wanted: usize) -> Result<()> {
        match &self.elements {
            Elements::Tensor(tensor) => {
                // What is gathered is in memory as a whole; the storage must not keep its bytes.
                let held = Storage::new(tensor.storage().load()?);
                let tensor = tensor.over(held, tensor.offset())?;
                self.buffer = tensor.to_bytes_within(&Limits::default())?.into_owned();
            }
            Elements::Stored(stored) => {
                let left = self.runs.total.saturating_sub(self.read);
                let now = wanted.clamp(self.ahead, CHUNK_BYTES).min(left);
                self.buffer.resize(now, 0);
                stored.range.read_at(self.read as u64, &mut self.buffer)?;
            }
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&self.buffer);
        }
        self.used = 0;
        self.read = self.read.saturating_add(self.buffer.len());
        if self.buffer.is_empty() {
            return Err(Error::malformed("a chunk is shorter than its shape"));
        }
        Ok(())
    }

    /// Compares the checksum when all was read, and gives the memory back.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.buffer = Vec::new();
        match (self.hasher.take(), &self.elements) {
            (Some(hasher), Elements::Stored(stored)) => stored.compare(hasher.finalize()),
            _ => Ok(()),
        }
    }
}
