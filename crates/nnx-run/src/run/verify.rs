//! Whether the epochs of a history are ones that NNx writes.

use std::path::Path;

use nnx_params::{NNIterationDataPoint, Number};

use super::NNRun;
use super::warning::RunWarning;
use crate::error::{Error, Result};
use crate::layout::RunFolder;
use crate::store::CheckpointStore;

/// Fails when a record of the history is of no epoch, or of one before the first. The records are
/// all that the file has.
pub(super) fn epochs(records: &[NNIterationDataPoint], path: &Path) -> Result<()> {
    if let Some(strays) = RunWarning::of_records(records, Some(path)) {
        return Err(Error::malformed(strays.message).in_path(path));
    }
    let mut epochs = records.iter().map(|idp| idp.epoch_idx());
    match epochs.position(|epoch| !is_epoch(epoch)) {
        Some(row) => Err(Error::malformed(format!(
            "expected epochs from 0 on in the history, found epoch {} in row {row}",
            records
                .get(row)
                .map_or(Number::from(0), |idp| idp.epoch_idx())
        ))
        .in_path(path)),
        None => Ok(()),
    }
}

/// Whether a number is an epoch as NNx counts them.
pub(crate) fn is_epoch(number: Number) -> bool {
    number.as_i64().is_some_and(|number| number >= 0)
}

/// Fails when the epoch that the checkpoint `last` commits is none; below 0 there is no such
/// checkpoint.
pub(super) fn committed(epoch: f64, folder: &RunFolder) -> Result<()> {
    match Number::from(epoch).as_i64() {
        Some(_) => Ok(()),
        None => Err(Error::malformed(format!(
            "expected the epoch up to which the history counts in the checkpoint `last`, found {}",
            Number::from(epoch)
        ))
        .in_path(&folder.path)),
    }
}

/// Whether a run is one whose training is in its first epoch, or was stopped in it: the history is
/// written before the checkpoint `last`, and that before all other checkpoints. `run` has all records
/// that there are.
pub(super) fn is_before_the_first_checkpoint(
    run: &NNRun,
    folder: &RunFolder,
    root: &Path,
) -> Result<bool> {
    let epochs = run.journal_epochs()?.unwrap_or_else(|| run.epochs());
    let store = CheckpointStore::new(&folder.id, root)?;
    Ok(epochs.len() <= 1 && store.tags()?.is_empty() && store.manifest_tags()?.is_empty())
}
