//! Whether the epochs of a history are ones that NNx writes.

use nnx_params::Number;

use super::NNRun;
use super::warning::RunWarning;
use crate::error::{Error, Result};
use crate::layout::RunFolder;

/// Fails when a record of the history is of no epoch, or of one before the first. `run` has all
/// records that the file has.
pub(super) fn epochs(run: &NNRun, folder: &RunFolder) -> Result<()> {
    let path = folder.idps_csv();
    if let Some(strays) = RunWarning::of_records(&run.idps, Some(&path)) {
        return Err(Error::malformed(strays.message).in_path(&path));
    }
    let early = |idp: &Number| idp.as_f64() < 0.0;
    let mut epochs = run.idps.iter().map(|idp| idp.epoch_idx()).enumerate();
    match epochs.find(|(_, epoch)| early(epoch)) {
        Some((row, epoch)) => Err(Error::malformed(format!(
            "expected epochs from 0 on in the history, found epoch {epoch} in row {row}"
        ))
        .in_path(&path)),
        None => Ok(()),
    }
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
