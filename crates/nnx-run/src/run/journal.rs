//! Runs that keep their history in a journal.

use std::path::{Path, PathBuf};

use super::NNRun;
use super::journal_cache::JournalCache;
use crate::epochs::{self, EpochMetrics};
use crate::error::{Error, ErrorKind, Result};
use crate::journal::reader::JournalReader;
use crate::layout::RunFolder;
use crate::warning::RunWarning;

impl NNRun {
    /// The folder of the run's journal, which has all records; `None` for a run that keeps them in
    /// `idps.csv`. With a journal [`idps`](Self::idps) are the last records only.
    pub fn history(&self) -> Option<&Path> {
        self.history.as_deref()
    }

    /// The same run with its records in the journal of a folder, or without a journal.
    #[must_use]
    pub fn with_history(mut self, folder: impl Into<Option<PathBuf>>) -> Self {
        self.history = folder.into();
        self.journal = None;
        self
    }

    /// The number of records in the history, up to the run's last one; those of the journal, if there
    /// is one.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn record_count(&self) -> Result<u64> {
        let Some(folder) = &self.history else {
            return Ok(self.idps.len() as u64);
        };
        match self.journal.as_ref().and_then(|it| it.record_count) {
            Some(count) => Ok(count),
            None => JournalReader::open(folder)?.record_count(Some(self.last_epoch())),
        }
    }

    /// The metrics of each epoch in the journal, up to the run's last record; `None` for a run
    /// without a journal.
    ///
    /// # Errors
    /// When the epochs of the journal cannot be read; [`epochs`](Self::epochs) then uses
    /// [`idps`](Self::idps).
    pub fn journal_epochs(&self) -> Result<Option<Vec<EpochMetrics>>> {
        let Some(folder) = &self.history else {
            return Ok(None);
        };
        if let Some(epochs) = self.journal.as_ref().and_then(|it| it.epochs.as_ref()) {
            return Ok(Some(epochs.clone()));
        }
        let rows = JournalReader::open(folder)?.rows(self.last_epoch())?;
        Ok(Some(self.with_records(rows)))
    }

    /// The rows of a journal, completed from the records in memory, which have more.
    fn with_records(&self, mut rows: Vec<EpochMetrics>) -> Vec<EpochMetrics> {
        for known in epochs::from_records(&self.idps) {
            for row in rows.iter_mut().filter(|row| row.epoch == known.epoch) {
                row.lr = known.lr;
                row.train_edp.clone_from(&known.train_edp);
                row.train_summary.clone_from(&known.train_summary);
                row.val_edp.clone_from(&known.val_edp);
            }
        }
        rows
    }

    /// The epoch of the last record; -1, which is before every epoch, without a record.
    pub(super) fn last_epoch(&self) -> f64 {
        let last = self.idps.last();
        last.map_or(-1.0, |record| record.epoch_idx().as_f64())
    }

    /// Takes the history from the journal of a folder: its last records, as many as the journal says,
    /// and its epochs.
    pub(super) fn read_journal(
        &mut self,
        journal: &JournalReader,
        folder: &RunFolder,
        committed: Option<f64>,
    ) -> Result<()> {
        // The real path, because the pointer `best`, through which the run may have been opened, can
        // name another run later.
        self.history = Some(real(&folder.history()));
        self.idps = journal.tail(committed)?;
        let rows = journal.rows(self.last_epoch());
        let (epochs, unreadable) = match rows {
            Ok(rows) => (Some(self.with_records(rows)), None),
            Err(error) => {
                let warning = RunWarning::unreadable_epochs(&error, self.idps.len());
                (None, Some(warning))
            }
        };
        self.journal = Some(JournalCache {
            record_count: journal.record_count(Some(self.last_epoch())).ok(),
            epochs,
        });
        let path = folder.history();
        let uncommitted = match committed {
            None => None,
            Some(epoch) => {
                let total = journal.record_count(None)?;
                let count = total.saturating_sub(journal.record_count(committed)?);
                RunWarning::uncommitted_records(count, total, epoch, &path)
            }
        };
        let strays = RunWarning::stray_records(&self.idps, Some(&path));
        self.history_warnings = [strays, uncommitted, unreadable]
            .into_iter()
            .flatten()
            .collect();
        Ok(())
    }

    /// Refuses a save that would separate the run from its records, or write records into a folder
    /// whose journal hides them.
    pub(crate) fn check_journal(&self, folder: &RunFolder) -> Result<()> {
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

/// The path with links resolved, as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()),
    }
}
