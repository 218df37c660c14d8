//! Going over the whole history of a run.

use std::path::Path;

use nnx_params::NNIterationDataPoint;

use super::lineage::{Segment, plan};
use super::reader::JournalReader;
use super::records::Records;
use crate::error::Result;
use crate::run::load::idps;

/// Whose records a history has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lineage {
    /// Those of the run alone.
    #[default]
    Excluded,
    /// Before them those of the run that it went on from, up to the epoch from which it did, and so
    /// on: each epoch once, none that the earlier run trained later.
    Included,
}

/// The records of a run in order, from [`iter_history`].
///
/// A journal is read chunk by chunk, each compared with its digest, so that the memory it takes is
/// that of one chunk; an `idps.csv` is read as a whole. The first error is the last item.
#[derive(Debug)]
pub struct History {
    /// Those to come, the next one last.
    segments: Vec<Segment>,
    open: Option<(Source, Option<f64>)>,
    warnings: Vec<String>,
}

#[derive(Debug)]
enum Source {
    Journal(Box<Records>),
    Csv(std::vec::IntoIter<NNIterationDataPoint>),
}

/// Goes over the committed history of a run: all records up to the epoch of its checkpoint `last`.
///
/// The lineage follows resumes, as `metadata.yaml` tells of them and `run.yaml` in runs before that
/// was recorded. A run that started fresh has its own history alone. Where it cannot be told from
/// which epoch a run went on, its parent's records count up to its own first one; where the parent
/// is not there any more, the lineage starts at the run. [`History::warnings`] says so.
///
/// # Errors
/// When there is no such run, the id could lead out of the folder of runs, the checkpoint `last` is
/// none, or what says where the run came from cannot be read.
pub fn iter_history(id: &str, root: impl AsRef<Path>, lineage: Lineage) -> Result<History> {
    let (segments, warnings) = plan(id, root.as_ref(), lineage)?;
    Ok(History {
        segments,
        open: None,
        warnings,
    })
}

impl History {
    /// What could not be known of the lineage, a sentence each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn advance(&mut self) -> Result<Option<NNIterationDataPoint>> {
        loop {
            if let Some((source, until)) = &mut self.open {
                let record = match source {
                    Source::Journal(records) => records.next().transpose()?,
                    Source::Csv(records) => records.next(),
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
                Some(segment) => Some((Source::open(&segment)?, segment.until)),
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

impl Source {
    fn open(segment: &Segment) -> Result<Self> {
        let folder = &segment.folder;
        Ok(match folder.has_journal() {
            true => {
                let journal = JournalReader::open(&folder.history())?;
                Self::Journal(Box::new(journal.records(segment.committed)))
            }
            false => Self::Csv(idps(folder, segment.committed)?.into_iter()),
        })
    }
}
