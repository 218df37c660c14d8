//! The records of a training, in memory and on disk.

use std::path::Path;

use nnx_params::NNIterationDataPoint;
use nnx_run::history::CsvHistory;
use nnx_run::journal::JournalWriter;
use nnx_run::{HistoryJournal, NNRun, RunLease};

use crate::error::Result;

/// All records of a session, or the last ones and a journal of all.
#[derive(Debug)]
pub(crate) struct History {
    records: Vec<NNIterationDataPoint>,
    /// Where the epoch in progress begins in `records`.
    epoch_start: usize,
    /// How the journal is kept, if there is to be one.
    spec: Option<HistoryJournal>,
    /// The journal, once it is open.
    journal: Option<JournalWriter>,
    /// Without a journal: the text of the records that were written.
    csv: CsvHistory,
}

impl History {
    pub(crate) fn new(spec: Option<HistoryJournal>) -> Self {
        Self {
            records: Vec::new(),
            epoch_start: 0,
            spec,
            journal: None,
            csv: CsvHistory::new(),
        }
    }

    /// Begins the journal in the run's folder, if there is to be one.
    ///
    /// # Errors
    /// When the run has a journal already.
    pub(crate) fn open(&mut self, run: &NNRun, lease: &mut RunLease, root: &Path) -> Result<()> {
        if let Some(spec) = self.spec.take() {
            lease.replace()?;
            self.journal = Some(JournalWriter::create(run.id(), root, spec)?);
        }
        Ok(())
    }

    /// The records that stay in memory.
    pub(crate) fn window(&self) -> &[NNIterationDataPoint] {
        let most = self
            .journal
            .as_ref()
            .map_or(usize::MAX, |journal| journal.spec().retention());
        let first = self.records.len().saturating_sub(most);
        self.records.get(first..).unwrap_or_default()
    }

    pub(crate) fn last(&self) -> Option<&NNIterationDataPoint> {
        self.records.last()
    }

    pub(crate) fn begin_epoch(&mut self) {
        if let Some(journal) = &self.journal {
            let most = journal.spec().retention();
            let surplus = self.records.len().saturating_sub(most);
            self.records.drain(..surplus);
        }
        self.epoch_start = self.records.len();
    }

    pub(crate) fn is_epoch_empty(&self) -> bool {
        self.records.len() == self.epoch_start
    }

    /// Drops the records of the epoch in progress.
    pub(crate) fn discard_epoch(&mut self) {
        self.records.truncate(self.epoch_start);
    }

    /// # Errors
    /// When the journal cannot be written.
    pub(crate) fn append(&mut self, record: NNIterationDataPoint) -> Result<()> {
        if let Some(journal) = &mut self.journal {
            journal.append(record.clone())?;
        }
        self.records.push(record);
        Ok(())
    }

    /// # Errors
    /// When the journal cannot be written.
    pub(crate) fn replace_last(&mut self, record: NNIterationDataPoint) -> Result<()> {
        if let Some(journal) = &mut self.journal {
            journal.replace_last(record.clone())?;
        }
        if let Some(last) = self.records.last_mut() {
            *last = record;
        }
        Ok(())
    }

    /// The run with these records.
    fn run(&self, run: &NNRun, records: &[NNIterationDataPoint]) -> NNRun {
        let folder = self
            .journal
            .as_ref()
            .map(|journal| journal.folder().to_owned());
        run.clone()
            .with_idps(records.iter().cloned())
            .with_history(folder)
    }

    /// Writes the history with the epoch that has just ended.
    ///
    /// # Errors
    /// When writing fails.
    pub(crate) fn save_epoch(&mut self, run: &NNRun, root: &Path) -> Result<()> {
        if let Some(journal) = &mut self.journal {
            journal.end_epoch()?;
            journal.publish()?;
        }
        self.save(run, root, self.records.len())
    }

    /// Writes the history as it was before the epoch, which could not be committed.
    ///
    /// # Errors
    /// When writing fails.
    pub(crate) fn roll_back(&mut self, run: &NNRun, root: &Path) -> Result<()> {
        if let Some(journal) = &mut self.journal {
            journal.rollback()?;
        }
        self.save(run, root, self.epoch_start)
    }

    /// Writes the history of the first records.
    fn save(&mut self, run: &NNRun, root: &Path, count: usize) -> Result<()> {
        if self.journal.is_some() {
            return Ok(self.run(run, &[]).save_history(root)?);
        }
        let records = self.records.get(..count).unwrap_or_default();
        Ok(run.save_history_text(root, self.csv.text(records)?)?)
    }

    /// Writes the run for the last time, decides anew which run is the best, and gives the run.
    ///
    /// # Errors
    /// When writing fails.
    pub(crate) fn finish(&self, run: &NNRun, root: &Path) -> Result<NNRun> {
        let run = self.run(run, self.window());
        run.save(root)?;
        Ok(run)
    }
}
