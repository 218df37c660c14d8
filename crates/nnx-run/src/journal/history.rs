//! Iterating over the whole history of a run.

use std::path::Path;

use nnx_params::NNIterationDataPoint;

use super::lineage::Lineage;
use super::reader::JournalReader;
use super::records::Records;
use super::segments::{Segment, plan};
use crate::error::Result;
use crate::records::{csv_records, is_committed};

/// The records of a run in order, from [`iter_history`].
///
/// A journal is read chunk by chunk, and each chunk is compared with its digest, so that only one
/// chunk is in memory; an `idps.csv` is read as a whole. The first error is the last item.
#[derive(Debug)]
pub struct History {
    /// The segments that follow, the next one last.
    segments: Vec<Segment>,
    open: Option<(RecordSource, Option<f64>)>,
    warnings: Vec<String>,
}

#[derive(Debug)]
enum RecordSource {
    Journal(Box<Records>),
    Csv(std::vec::IntoIter<NNIterationDataPoint>),
}

/// Iterates over the committed history of a run: all records up to the epoch of its checkpoint
/// `last`.
///
/// The lineage follows the resumes that `metadata.yaml` records, or `run.yaml` in older runs. A run
/// that did not resume another has its own history alone. If it is unknown from which epoch a run
/// resumed, the parent's records count up to the run's first one; if the parent no longer exists, the
/// lineage starts at the run. [`History::warnings`] reports both.
///
/// # Errors
/// When there is no such run, the id could lead out of the folder of runs, the checkpoint `last` is
/// not a checkpoint, or the file that names the run's parent cannot be read.
pub fn iter_history(id: &str, root: impl AsRef<Path>, lineage: Lineage) -> Result<History> {
    let (segments, warnings) = plan(id, root.as_ref(), lineage)?;
    Ok(History {
        segments,
        open: None,
        warnings,
    })
}

impl History {
    /// The unknown parts of the lineage, one sentence each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn advance(&mut self) -> Result<Option<NNIterationDataPoint>> {
        loop {
            if let Some((source, until)) = &mut self.open {
                let record = match source {
                    RecordSource::Journal(records) => records.next().transpose()?,
                    RecordSource::Csv(records) => records.next(),
                };
                let is_before = |record: &NNIterationDataPoint| {
                    until.is_none_or(|until| record.epoch_idx().as_f64() < until)
                };
                if let Some(record) = record.filter(is_before) {
                    return Ok(Some(record));
                }
            }
            self.open = match self.segments.pop() {
                None => return Ok(None),
                Some(segment) => Some((RecordSource::open(&segment)?, segment.until)),
            };
        }
    }
}

impl Iterator for History {
    type Item = Result<NNIterationDataPoint>;

    fn next(&mut self) -> Option<Self::Item> {
        let advanced = self.advance();
        if !matches!(advanced, Ok(Some(_))) {
            self.open = None;
            self.segments.clear();
        }
        advanced.transpose()
    }
}

impl RecordSource {
    fn open(segment: &Segment) -> Result<Self> {
        let folder = &segment.folder;
        if folder.has_journal() {
            let journal = JournalReader::open(&folder.history())?;
            return Ok(Self::Journal(Box::new(journal.records(segment.committed))));
        }
        let mut records = csv_records(folder)?;
        records.retain(|record| is_committed(record, segment.committed));
        Ok(Self::Csv(records.into_iter()))
    }
}
