//! The records of one chunk.

use std::path::{Path, PathBuf};

use nnx_params::NNIterationDataPoint;

use super::file::{mapping, whole};
use super::index::IndexEntry;
use super::text::{is_blank, lines, sha256};
use crate::error::{Error, Result};
use crate::limits::MAX_CHUNK_BYTES;

/// A chunk whose bytes match the index; iterating gives its records.
#[derive(Debug)]
pub(super) struct OpenChunk {
    path: PathBuf,
    number: u64,
    bytes: Vec<u8>,
    offset: usize,
    line: u64,
}

impl OpenChunk {
    /// Reads a chunk, and compares its digest and its number of records with the index.
    pub(super) fn open(folder: &Path, chunk: &IndexEntry) -> Result<Self> {
        let path = folder.join(chunk.name());
        let corrupt = |what: String| Error::history_corruption(what).in_path(&path);
        let number = chunk.number;
        let bytes =
            whole(&path, "bytes of a history chunk", MAX_CHUNK_BYTES)?.ok_or_else(|| {
                corrupt(format!(
                    "chunk {number} of the history is missing; restore it from a copy"
                ))
            })?;
        if sha256(&bytes) != *chunk.sha256 {
            return Err(corrupt(format!(
                "chunk {number} of the history changed after it was written: its digest differs \
                 from the index's; restore it from a copy"
            )));
        }
        let records = lines(&bytes).filter(|line| !is_blank(line)).count();
        if records as u64 != chunk.records {
            return Err(corrupt(format!(
                "expected {} records in chunk {number} of the history, as the index says, found \
                 {records}",
                chunk.records
            )));
        }
        Ok(Self {
            path,
            number,
            bytes,
            offset: 0,
            line: 0,
        })
    }

    /// The number of bytes of the chunk.
    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn record(&self, line: &[u8]) -> Result<NNIterationDataPoint> {
        let what = || format!("line {} of chunk {} of the history", self.line, self.number);
        let state = mapping(line, what)?;
        NNIterationDataPoint::from_state(&state).map_err(|error| {
            Error::history_corruption(format!("expected a record as {}: {error}", what()))
        })
    }
}

impl Iterator for OpenChunk {
    type Item = Result<NNIterationDataPoint>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = lines(self.bytes.get(self.offset..)?).next()?;
            self.offset = self.offset.saturating_add(line.len());
            self.line = self.line.saturating_add(1);
            if !is_blank(line) {
                let line = self.offset.saturating_sub(line.len())..self.offset;
                let line = self.bytes.get(line)?;
                let record = self.record(line);
                return Some(record.map_err(|error| error.in_path(&self.path)));
            }
        }
    }
}
