//! Runs that keep their history in a journal.

use std::path::{Path, PathBuf};

use super::{EpochMetrics, NNRun, RunWarning, epochs};
use crate::error::{Error, ErrorKind, Result};
use crate::journal::{JournalReader, rows};
use crate::layout::RunFolder;

impl NNRun {
    /// The folder of the run's journal, in which all records are; none in a run that keeps them in
    /// `idps.csv`. [`idps`](Self::idps) are the last ones then.
    pub fn history(&self) -> Option<&Path> {
        self.history.as_deref()
    }

    /// The same run with its records in a journal, or in none.
    #[must_use]
    pub fn with_history(mut self, folder: impl Into<Option<PathBuf>>) -> Self {
        self.history = folder.into();
        self
    }

    /// How many records the history has up to the run's last one: those of the journal, where there
    /// is one.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn record_count(&self) -> Result<u64> {
        match &self.history {
            None => Ok(self.idps.len() as u64),
            Some(folder) => JournalReader::open(folder)?.record_count(Some(self.last_epoch())),
        }
    }

    /// The metrics of each epoch that the journal has up to the run's last record; none in a run
    /// without a journal.
    ///
    /// # Errors
    /// When the journal's epochs cannot be read; [`epochs`](Self::epochs) makes do with
    /// [`idps`](Self::idps) then.
    pub fn journal_epochs(&self) -> Result<Option<Vec<EpochMetrics>>> {
        let Some(folder) = &self.history else {
            return Ok(None);
        };
        let mut rows = rows(folder, self.last_epoch())?;
        // The rows lack what the records in memory have.
        for known in epochs::of_records(&self.idps) {
            for row in rows.iter_mut().filter(|row| row.epoch == known.epoch) {
                row.lr = known.lr;
                row.train_edp.clone_from(&known.train_edp);
                row.train_summary.clone_from(&known.train_summary);
                row.val_edp.clone_from(&known.val_edp);
            }
        }
        Ok(Some(rows))
    }

    /// The epoch of the last record; below every epoch where there is none.
    fn last_epoch(&self) -> f64 {
        let last = self.idps.last();
        last.map_or(-1.0, |record| record.epoch_idx().as_f64())
    }

    /// Takes the journal of a folder: its last records, where they are wanted.
    pub(super) fn read_journal(
        &mut self,
        folder: &RunFolder,
        committed: Option<f64>,
        with_records: bool,
    ) -> Result<()> {
        let journal = JournalReader::open(&folder.history())?;
        // A run that was opened through the pointer `best` keeps its own journal.
        self.history = Some(real(&folder.history()));
        if with_records {
            self.idps = journal.tail(committed)?;
            self.history_warnings = self.journal_warnings(&journal, committed, folder)?;
        }
        Ok(())
    }

    /// What is wrong with the history of a run whose journal could be opened.
    fn journal_warnings(
        &self,
        journal: &JournalReader,
        committed: Option<f64>,
        folder: &RunFolder,
    ) -> Result<Vec<RunWarning>> {
        let path = folder.history();
        let total = journal.record_count(None)?;
        let left_out = match committed {
            None => None,
            Some(epoch) => {
                let count = total.saturating_sub(journal.record_count(committed)?);
                RunWarning::of_left_out(count, total, epoch, &path)
            }
        };
        let epochs = self.journal_epochs().err();
        let epochs = epochs.map(|error| RunWarning::of_epochs(&error, self.idps.len()));
        let strays = RunWarning::of_records(&self.idps, Some(&path));
        Ok([strays, left_out, epochs].into_iter().flatten().collect())
    }

    /// Refuses a save that would part the run from its records, or put records where nobody reads
    /// them.
    pub(super) fn check_journal(&self, folder: &RunFolder) -> Result<()> {
        match &self.history {
            None if folder.has_journal() => Err(Error::unsupported(
                "the folder keeps the history of the run in a journal, which would hide the \
                 records of a save; load the run and save that, or remove the folder `history`",
            )
            .in_path(&folder.path)),
            Some(journal) if real(journal) != real(&folder.history()) => {
                Err(Error::new(ErrorKind::JournalElsewhere {
                    id: self.id.clone(),
                    journal: journal.clone(),
                })
                .in_path(&folder.path))
            }
            _ => Ok(()),
        }
    }
}

/// A path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()),
    }
}
