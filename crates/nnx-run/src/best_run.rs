//! The choice of the best run.

use std::path::Path;

use nnx_checkpoint::NNCheckpoint;
use nnx_params::Checkpoints;

use crate::best_metric::score;
use crate::error::Result;
use crate::ids::{is_there, run_ids};
use crate::layout::{RunFolder, runs_folder};
use crate::pointer::{lock_pointer, read_pointer, write_pointer};
use crate::records::committed_epoch;
use crate::run::NNRun;
use crate::store::CheckpointStore;

impl NNRun {
    /// The best run, if the folder of runs points to a run that exists.
    ///
    /// # Errors
    /// When the pointer, or the run that it names, cannot be read.
    pub fn best(root: impl AsRef<Path>) -> Result<Option<Self>> {
        let root = root.as_ref();
        match Self::best_id(root)? {
            Some(id) if is_there(&runs_folder(root).join(&id).join("run.yaml"))? => {
                Self::load(&id, root).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The id that the folder of runs names as the best run: the target of the link `best`, or the
    /// text of `best/POINTER.txt` where the system has no links.
    ///
    /// # Errors
    /// When the pointer cannot be read.
    pub fn best_id(root: impl AsRef<Path>) -> Result<Option<String>> {
        read_pointer(&runs_folder(root.as_ref()))
    }
}

/// Moves the pointer after a run was saved, by the rules of NNx:
///
/// - Only a run with a committed checkpoint `best` can be pointed to.
/// - The pointer moves to the saved run if its score is strictly smaller than that of the run that
///   the pointer names.
/// - If the pointer names no existing run, or names the saved run, whose score may have become worse,
///   all runs are compared.
pub(crate) fn update_pointer(id: &str, root: &Path) -> Result<()> {
    let runs = runs_folder(root);
    let _lock = lock_pointer(&runs)?;
    let current = read_pointer(&runs)?.filter(|current| runs.join(current).exists());
    let Some(own) = committed_best(id, root) else {
        // The run was the best one and can no longer be it.
        if current.as_deref() == Some(id) {
            write_pointer(&runs, select_best(root, Some(id), None)?.as_deref())?;
        }
        return Ok(());
    };
    match current {
        Some(current) if current != id => {
            let other = CheckpointStore::new(&current, root)?.load(&Checkpoints::Best.into());
            // A checkpoint that cannot be read has no score, so any other run is better.
            let other = other.ok().flatten();
            let other = other.as_ref().map_or(f64::INFINITY, score);
            if score(&own) < other {
                write_pointer(&runs, Some(id))?;
            }
            Ok(())
        }
        current => {
            let best = select_best(root, None, Some(id))?;
            if best != current {
                write_pointer(&runs, best.as_deref())?;
            }
            Ok(())
        }
    }
}

/// Points to the next best run if the pointer names this run, which is about to be removed.
pub(crate) fn release_pointer(id: &str, root: &Path) -> Result<()> {
    let runs = runs_folder(root);
    let _lock = lock_pointer(&runs)?;
    if read_pointer(&runs)?.as_deref() == Some(id) {
        write_pointer(&runs, select_best(root, Some(id), None)?.as_deref())?;
    }
    Ok(())
}

/// The run with the smallest score. Of runs with equal scores it is the preferred one, otherwise the
/// first by id.
fn select_best(root: &Path, exclude: Option<&str>, prefer: Option<&str>) -> Result<Option<String>> {
    let mut best: Option<(String, f64)> = None;
    for id in run_ids(root)? {
        if Some(&*id) == exclude || id.starts_with('.') {
            continue;
        }
        let Some(checkpoint) = committed_best(&id, root) else {
            continue;
        };
        let score = score(&checkpoint);
        let is_better = best
            .as_ref()
            .is_none_or(|(_, least)| score < *least || score == *least && Some(&*id) == prefer);
        if is_better {
            best = Some((id, score));
        }
    }
    Ok(best.map(|(id, _)| id))
}

/// The checkpoint `best` of a run, if the run can be pointed to. Errors count as "it cannot": the
/// search goes over folders with any content, and one broken run must not stop it.
fn committed_best(id: &str, root: &Path) -> Option<NNCheckpoint> {
    let folder = RunFolder::new(id, root).ok()?;
    if !folder.run_yaml().is_file() {
        return None;
    }
    let committed = committed_epoch(&folder, root).ok()?;
    NNRun::check(&folder).ok()?;
    let store = CheckpointStore::new(id, root).ok()?;
    let best = store.load(&Checkpoints::Best.into()).ok()??;
    // A run with a monitor is ranked by a metric that the other runs do not have.
    let is_monitored = best.idp.selection().is_some();
    let is_uncommitted = committed.is_some_and(|epoch| best.idp.epoch_idx().as_f64() > epoch);
    (!is_monitored && !is_uncommitted).then_some(best)
}
