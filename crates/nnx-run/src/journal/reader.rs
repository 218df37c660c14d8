//! A published journal.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use nnx_params::NNIterationDataPoint;

use super::chunk::OpenChunk;
use super::index::{self, IndexEntry};
use super::manifest::JournalManifest;
use super::rows;
use crate::epochs::{EpochMetrics, is_epoch};
use crate::error::{Error, Result};
use crate::limits::{MAX_HISTORY_BYTES, MAX_HISTORY_RECORDS};

/// A journal whose manifest and index were read and agree. A chunk is read and checked when its
/// records are needed.
#[derive(Debug)]
pub(crate) struct JournalReader {
    pub(super) folder: PathBuf,
    pub(super) manifest: JournalManifest,
    pub(super) chunks: Vec<IndexEntry>,
}

impl JournalReader {
    /// Opens the journal in a folder.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        Self::with_manifest(folder, JournalManifest::read(folder)?)
    }

    /// Opens a journal whose manifest is not published yet.
    pub(super) fn with_manifest(folder: &Path, manifest: JournalManifest) -> Result<Self> {
        Ok(Self {
            folder: folder.to_path_buf(),
            chunks: index::read(folder, &manifest)?,
            manifest,
        })
    }

    /// The number of epochs that the manifest counts.
    pub(crate) fn epoch_count(&self) -> u64 {
        self.manifest.epochs
    }

    /// The metrics of the epochs up to one, from the rows of the journal.
    pub(crate) fn rows(&self, until: f64) -> Result<Vec<EpochMetrics>> {
        rows::read(&self.folder, &self.manifest, until)
    }

    /// The number of records up to an epoch. A chunk is read only if the epoch ends within it, which
    /// it never does in a journal that NNx wrote.
    pub(crate) fn record_count(&self, until: Option<f64>) -> Result<u64> {
        let Some(until) = until else {
            return Ok(self.manifest.records);
        };
        let mut count = 0_u64;
        for chunk in &self.chunks {
            if chunk.first_epoch > until {
                break;
            }
            if chunk.last_epoch <= until {
                count = count.saturating_add(chunk.records);
                continue;
            }
            for record in OpenChunk::open(&self.folder, chunk)? {
                let is_counted = record?.epoch_idx().as_f64() <= until;
                count = count.saturating_add(u64::from(is_counted));
            }
        }
        Ok(count)
    }

    /// The last records up to an epoch, as many as the journal keeps in memory; only their chunks are
    /// read.
    pub(crate) fn tail(&self, until: Option<f64>) -> Result<Vec<NNIterationDataPoint>> {
        let is_visible = |chunk: &&IndexEntry| until.is_none_or(|until| chunk.first_epoch <= until);
        let wanted = self.manifest.retention;
        let (mut needed, mut found) = (Vec::new(), 0_u64);
        for chunk in self.chunks.iter().rev().filter(is_visible) {
            if found >= wanted {
                break;
            }
            found = found.saturating_add(chunk.records);
            needed.push(chunk);
        }
        let (mut window, mut bytes) = (VecDeque::new(), 0_u64);
        for chunk in needed.into_iter().rev() {
            let chunk = OpenChunk::open(&self.folder, chunk)?;
            bytes = bytes.saturating_add(chunk.len());
            if bytes > MAX_HISTORY_BYTES {
                return Err(
                    Error::limit("bytes of history", MAX_HISTORY_BYTES).in_path(&self.folder)
                );
            }
            for record in chunk {
                let record = record?;
                if until.is_some_and(|until| record.epoch_idx().as_f64() > until) {
                    continue;
                }
                if window.len() as u64 >= wanted {
                    window.pop_front();
                }
                if window.len() as u64 >= MAX_HISTORY_RECORDS {
                    return Err(Error::limit("records of history", MAX_HISTORY_RECORDS)
                        .in_path(&self.folder));
                }
                window.push_back(record);
            }
        }
        Ok(window.into())
    }

    /// The epoch of the first record, if it is not after `until`.
    pub(super) fn first_epoch(&self, until: Option<f64>) -> Option<f64> {
        let first = self.chunks.first()?.first_epoch;
        until.is_none_or(|until| first <= until).then_some(first)
    }

    /// Reads and checks everything that the manifest counts: each chunk, each record, whose epoch must
    /// be counted from 0, and the rows of the epochs.
    pub(crate) fn verify(self) -> Result<()> {
        let (folder, manifest) = (self.folder.clone(), self.manifest.clone());
        for (number, record) in (1_u64..).zip(self.records(None)) {
            let epoch = record?.epoch_idx();
            if !is_epoch(epoch) {
                let what = format!(
                    "expected epochs from 0 on in the history, found epoch {epoch} in record {number}"
                );
                return Err(Error::malformed(what).in_path(&folder));
            }
        }
        rows::check(&folder, &manifest)
    }
}
