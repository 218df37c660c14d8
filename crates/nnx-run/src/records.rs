//! The records in a run's `idps.csv`, and how many of a run's records count.

use std::path::Path;

use nnx_params::{Checkpoints, NNIterationDataPoint};

use crate::error::{Error, Result};
use crate::history::from_csv;
use crate::layout::{RunFolder, read_bounded};
use crate::limits::MAX_HISTORY_BYTES;
use crate::store::CheckpointStore;

/// All records of a run that keeps its history in `idps.csv`.
pub(crate) fn csv_records(folder: &RunFolder) -> Result<Vec<NNIterationDataPoint>> {
    let path = folder.idps_csv();
    let bytes = read_bounded(&path, "bytes of history", MAX_HISTORY_BYTES)?;
    let bytes = bytes.ok_or_else(|| {
        Error::malformed("expected the history beside `run.yaml`, found none").in_path(&path)
    })?;
    from_csv(&bytes).map_err(|error| error.in_path(&path))
}

/// Whether a record counts, where the history counts up to an epoch.
pub(crate) fn is_committed(record: &NNIterationDataPoint, committed: Option<f64>) -> bool {
    committed.is_none_or(|epoch| record.epoch_idx().as_f64() <= epoch)
}

/// The epoch up to which a run's history counts: that of its checkpoint `last`.
///
/// `None` if the run is not marked as committed by that checkpoint, so that all records count; -1 if
/// it is marked and there is no such checkpoint, so that no record counts.
pub(crate) fn committed_epoch(folder: &RunFolder, root: &Path) -> Result<Option<f64>> {
    if !folder.committed_by_last().is_file() {
        return Ok(None);
    }
    let last = CheckpointStore::new(&folder.id, root)?.load(&Checkpoints::Last.into())?;
    Ok(Some(
        last.map_or(-1.0, |last| last.idp.epoch_idx().as_f64()),
    ))
}
