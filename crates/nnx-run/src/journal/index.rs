//! `index.jsonl`, one line per chunk.

use std::path::{Path, PathBuf};

use nnx_params::{NNIterationDataPoint, State, Value};

use super::file::{amount, committed, count, mapping};
use super::manifest::JournalManifest;
use super::text::{GENESIS, chained, chunk_name, lines};
use crate::error::{Error, Result};
use crate::limits::MAX_INDEX_BYTES;

/// A line of the index.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct IndexEntry {
    pub(super) number: u64,
    pub(super) records: u64,
    pub(super) first_epoch: f64,
    pub(super) last_epoch: f64,
    /// The digest of its bytes in lower-case hex; any other text matches no chunk.
    pub(super) sha256: Box<str>,
}

/// Where the index of a journal is.
pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join("index.jsonl")
}

/// The chunks that the manifest counts, each line of the index checked.
pub(super) fn read(folder: &Path, manifest: &JournalManifest) -> Result<Vec<IndexEntry>> {
    let path = path(folder);
    let located = |error: Error| error.in_path(&path);
    let bytes = committed(
        &path,
        manifest.index_bytes,
        "bytes of a history index",
        MAX_INDEX_BYTES,
    )?;
    let (mut chain, mut count) = (GENESIS.to_owned(), 0_u64);
    for line in lines(&bytes) {
        chain = chained(&chain, line);
        count = count.saturating_add(1);
    }
    if chain != manifest.index_chain || count != manifest.chunks {
        return Err(located(Error::history_corruption(format!(
            "expected the index of {} chunks that the manifest of the history journal describes, \
             found a different index, of {count} chunks; restore the folder from a copy",
            manifest.chunks
        ))));
    }
    let mut chunks = Vec::new();
    let mut records = 0_u64;
    for (number, line) in (0_u64..).zip(lines(&bytes)) {
        let chunk = IndexEntry::read(number, line).map_err(located)?;
        records = records.saturating_add(chunk.records);
        chunks.push(chunk);
    }
    if records != manifest.records {
        return Err(located(Error::history_corruption(format!(
            "expected an index of {} records, as the manifest of the history journal says, found \
             {records}",
            manifest.records
        ))));
    }
    Ok(chunks)
}

impl IndexEntry {
    fn read(number: u64, line: &[u8]) -> Result<Self> {
        let what = || format!("line {} of the history index", number.saturating_add(1));
        let state = mapping(line, what)?;
        let wrong = |key: &str, expected: &str| {
            Error::history_corruption(format!("expected {expected} as `{key}` of {}", what()))
        };
        let value = |key: &str| state.get(key);
        let epoch = |key: &str| {
            let epoch = value(key).and_then(amount);
            epoch.ok_or_else(|| wrong(key, "a number"))
        };
        let name = chunk_name(number);
        if value("seq").and_then(count) != Some(number) {
            return Err(wrong("seq", &format!("the number {number}")));
        }
        // Only the one possible name is accepted, so that no name leads out of the folder.
        if value("file").and_then(Value::as_str) != Some(&*name) {
            return Err(wrong("file", &format!("`{name}`")));
        }
        let sha256 = value("sha256").ok_or_else(|| wrong("sha256", "a digest"))?;
        Ok(Self {
            number,
            records: value("records")
                .and_then(count)
                .ok_or_else(|| wrong("records", "a whole number from 0"))?,
            first_epoch: epoch("first_epoch")?,
            last_epoch: epoch("last_epoch")?,
            sha256: sha256.as_str().unwrap_or_default().into(),
        })
    }

    /// The name of the chunk's file.
    pub(super) fn name(&self) -> String {
        chunk_name(self.number)
    }
}

/// The entry of a new chunk.
pub(super) fn entry(
    number: u64,
    records: usize,
    first: &NNIterationDataPoint,
    last: &NNIterationDataPoint,
    sha256: String,
) -> State {
    let mut state = State::new();
    state.insert("seq", Value::Int(number.into()));
    state.insert("file", chunk_name(number));
    state.insert("records", Value::Int(records as i128));
    state.insert("first_iter", first.iter_idx());
    state.insert("last_iter", last.iter_idx());
    state.insert("first_epoch", first.epoch_idx());
    state.insert("last_epoch", last.epoch_idx());
    state.insert("sha256", sha256);
    state
}
