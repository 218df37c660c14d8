//! Whether nothing of a run's history is lost.

use std::path::Path;

use nnx_params::{NNIterationDataPoint, Number};

use super::NNRun;
use crate::epochs::{self, is_epoch};
use crate::error::{Error, Result};
use crate::journal::reader::JournalReader;
use crate::layout::RunFolder;
use crate::records::csv_records;
use crate::store::CheckpointStore;
use crate::warning::RunWarning;

/// The size of a history, records that do not count included.
struct Totals {
    records: u64,
    epochs: u64,
}

impl NNRun {
    /// Reads a run as [`load`](Self::load) does, and checks that nothing of its history is lost.
    ///
    /// Each record must have an epoch, counted from 0. If the checkpoint `last` commits the history,
    /// it must exist, and the history must reach its epoch. A run whose first epoch was not finished
    /// has no such checkpoint yet, nor any other; it is sound. A journal is read as a whole, and each
    /// chunk is compared with its digest.
    ///
    /// [`CheckpointStore::verify`] checks the checkpoints, and [`read_metadata`](Self::read_metadata)
    /// the metadata. Comparing the id with that of the folder is left to the caller.
    ///
    /// # Errors
    /// As for [`load`](Self::load); [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) when the
    /// history ends too early, or a record or the checkpoint `last` has no valid epoch.
    pub fn verify(id: &str, root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref();
        let (folder, committed) = Self::find(id, root)?;
        let mut run = Self::read_configuration(&folder)?;
        let totals = if folder.has_journal() {
            let journal = JournalReader::open(&folder.history())?;
            run.read_journal(&journal, &folder, committed)?;
            let totals = Totals {
                records: journal.record_count(None)?,
                epochs: journal.epoch_count(),
            };
            journal.verify()?;
            totals
        } else {
            let records = csv_records(&folder)?;
            check_epochs(&records, &folder.idps_csv())?;
            let totals = Totals {
                records: records.len() as u64,
                epochs: epochs::from_records(&records).len() as u64,
            };
            run.take_records(records, &folder, committed);
            totals
        };
        run.take_metadata(&folder);
        if let Some(committed) = committed {
            run.check_committed(committed, &totals, &folder, root)?;
        }
        Ok(run)
    }

    /// Fails when the history does not reach the epoch that the checkpoint `last` commits.
    fn check_committed(
        &self,
        committed: f64,
        totals: &Totals,
        folder: &RunFolder,
        root: &Path,
    ) -> Result<()> {
        let malformed = |what: String| Err(Error::malformed(what).in_path(&folder.path));
        if Number::from(committed).as_i64().is_none() {
            return malformed(format!(
                "expected the epoch up to which the history counts in the checkpoint `last`, found {}",
                Number::from(committed)
            ));
        }
        if committed < 0.0 {
            if is_before_the_first_checkpoint(totals, folder, root)? {
                return Ok(());
            }
            return malformed(format!(
                "the history has {} records, but the checkpoint `last`, which says how many of them \
                 count, does not exist",
                totals.records
            ));
        }
        let epochs = self.idps.iter().map(|idp| idp.epoch_idx().as_f64());
        let last = epochs.fold(-1.0, f64::max);
        if last < committed {
            let found = if last < 0.0 {
                "none".to_owned()
            } else {
                format!("epoch {last} as its last one")
            };
            return malformed(format!(
                "expected a history up to epoch {committed}, which the checkpoint `last` says was \
                 finished, found {found}"
            ));
        }
        Ok(())
    }
}

/// Fails when a record has no valid epoch, or one before the first. The records are all records of
/// the file.
fn check_epochs(records: &[NNIterationDataPoint], path: &Path) -> Result<()> {
    if let Some(strays) = RunWarning::stray_records(records, Some(path)) {
        return Err(Error::malformed(strays.message).in_path(path));
    }
    let mut rows = records
        .iter()
        .map(NNIterationDataPoint::epoch_idx)
        .enumerate();
    match rows.find(|(_, epoch)| !is_epoch(*epoch)) {
        Some((row, epoch)) => Err(Error::malformed(format!(
            "expected epochs from 0 on in the history, found epoch {epoch} in row {row}"
        ))
        .in_path(path)),
        None => Ok(()),
    }
}

/// Whether the training of a run is in its first epoch, or was stopped in it. A training writes the
/// history before the checkpoint `last`, and `last` before all other checkpoints.
fn is_before_the_first_checkpoint(
    totals: &Totals,
    folder: &RunFolder,
    root: &Path,
) -> Result<bool> {
    let store = CheckpointStore::new(&folder.id, root)?;
    Ok(totals.epochs <= 1 && store.tags()?.is_empty() && store.manifest_tags()?.is_empty())
}
