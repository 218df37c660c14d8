//! The pointer to the best run.

mod score;

pub use score::BestMetric;

use std::fs;
use std::io;
use std::path::Path;

use nnx_checkpoint::NNCheckpoint;
use nnx_params::{Checkpoints, validate_run_id};

use crate::error::{Error, Result};
use crate::layout::{BEST, RunFolder, read_text, runs_folder};
use crate::lock::{FileLock, is_absence};
use crate::run::NNRun;
use crate::run::ids::run_ids;
use crate::run::load::{Records, committed_epoch};
use crate::stage::replace_text;
use crate::store::CheckpointStore;

/// Where there are no links: the pointer is a folder with this file.
const POINTER: &str = "POINTER.txt";
/// Bytes of that file.
const MAX_POINTER_BYTES: u64 = 1 << 16;

/// The id that the pointer names, if there is one that can be an id.
pub(crate) fn pointed(runs: &Path) -> Result<Option<String>> {
    let pointer = runs.join(BEST);
    let text = match fs::read_link(&pointer) {
        Ok(target) => target.to_string_lossy().into_owned(),
        Err(error) if is_absence(&error) => return Ok(None),
        // No link: the other form.
        Err(_) => match read_text(
            &pointer.join(POINTER),
            "bytes of pointer",
            MAX_POINTER_BYTES,
        )? {
            Some(text) => text.trim().to_owned(),
            None => return Ok(None),
        },
    };
    // The last part of a path, as a run's id holds no separator of either system.
    let path = text.trim_end_matches(std::path::is_separator);
    let id = path.rsplit(['/', '\\']).next().unwrap_or_default();
    Ok(validate_run_id(id).is_ok().then(|| id.to_owned()))
}

/// Points to the run that was just saved where that is due, as the reference decides it: only a run
/// whose checkpoint `best` is committed can be pointed to, the pointer moves on a strictly smaller
/// score, and where it names no run that is there, or this one, all runs are compared.
pub(crate) fn update(id: &str, root: &Path) -> Result<()> {
    let runs = runs_folder(root);
    let _lock = lock(&runs)?;
    let current = pointed(&runs)?.filter(|current| runs.join(current).exists());
    let Some(mine) = committed_best(id, root) else {
        // What cannot be pointed to hands the pointer on.
        if current.as_deref() == Some(id) {
            publish(&runs, elect(root, Some(id), None)?.as_deref())?;
        }
        return Ok(());
    };
    match current {
        Some(current) if current != id => {
            let theirs = CheckpointStore::new(&current, root)?.load(&Checkpoints::Best.into());
            // A checkpoint that cannot be read has no score.
            let theirs = theirs.ok().flatten();
            let theirs = theirs.as_ref().map_or(f64::INFINITY, score::of);
            if score::of(&mine) < theirs {
                publish(&runs, Some(id))?;
            }
            Ok(())
        }
        current => {
            let winner = elect(root, None, Some(id))?;
            if winner != current {
                publish(&runs, winner.as_deref())?;
            }
            Ok(())
        }
    }
}

/// Takes the pointer from a run that is about to be removed.
pub(crate) fn hand_on(id: &str, root: &Path) -> Result<()> {
    let runs = runs_folder(root);
    let _lock = lock(&runs)?;
    if pointed(&runs)?.as_deref() == Some(id) {
        publish(&runs, elect(root, Some(id), None)?.as_deref())?;
    }
    Ok(())
}

fn lock(runs: &Path) -> Result<FileLock> {
    let path = runs.join(".best.lock");
    FileLock::exclusive(&path).map_err(|error| Error::from(error).in_path(&path))
}

/// The checkpoint `best` of a run that can be pointed to; none where anything speaks against it,
/// since an election goes over folders of any content.
fn committed_best(id: &str, root: &Path) -> Option<NNCheckpoint> {
    let folder = RunFolder::new(id, root).ok()?;
    if !folder.run_yaml().is_file() {
        return None;
    }
    let committed = committed_epoch(&folder, root).ok()?;
    NNRun::read(&folder, Records::Checked, committed).ok()?;
    let store = CheckpointStore::new(id, root).ok()?;
    let best = store.load(&Checkpoints::Best.into()).ok()??;
    // A monitor of the run's own ranks by what other runs do not have.
    let is_monitored = best.idp.selection().is_some();
    let is_beyond = committed.is_some_and(|epoch| best.idp.epoch_idx().as_f64() > epoch);
    (!is_monitored && !is_beyond).then_some(best)
}

/// The run of the smallest score; among equals the preferred one, else the first by id.
fn elect(root: &Path, exclude: Option<&str>, prefer: Option<&str>) -> Result<Option<String>> {
    let mut winner: Option<(String, f64)> = None;
    for id in run_ids(root)? {
        if Some(&*id) == exclude || id.starts_with('.') {
            continue;
        }
        let Some(checkpoint) = committed_best(&id, root) else {
            continue;
        };
        let score = score::of(&checkpoint);
        let wins = winner
            .as_ref()
            .is_none_or(|(_, best)| score < *best || score == *best && Some(&*id) == prefer);
        if wins {
            winner = Some((id, score));
        }
    }
    Ok(winner.map(|(id, _)| id))
}

/// Points to a run, or to none.
fn publish(runs: &Path, winner: Option<&str>) -> Result<()> {
    let pointer = runs.join(BEST);
    match winner {
        Some(id) => point(runs, id),
        None => match fs::symlink_metadata(&pointer) {
            Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(&pointer),
            Ok(_) => fs::remove_file(&pointer),
            Err(error) if is_absence(&error) => Ok(()),
            Err(error) => Err(error),
        }
        .map_err(Error::from),
    }
    .map_err(|error| error.in_path(&pointer))
}

fn point(runs: &Path, id: &str) -> Result<()> {
    let pointer = runs.join(BEST);
    if link(runs, id).is_ok() {
        return Ok(());
    }
    // No links here: a folder with a file that names the run.
    fs::create_dir_all(&pointer)?;
    let target = runs.join(id);
    replace_text(&pointer.join(POINTER), &target.to_string_lossy())
}

/// Makes the link under another name and puts it into its place. Its text is the bare id, so that
/// the folder of runs can be moved.
fn link(runs: &Path, id: &str) -> io::Result<()> {
    let pointer = runs.join(BEST);
    let new = runs.join("best.tmp");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    make_link(id, &new)?;
    if fs::symlink_metadata(&pointer).is_ok_and(|metadata| metadata.is_dir()) {
        fs::remove_dir_all(&pointer)?;
    }
    fs::rename(&new, &pointer).inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}

#[cfg(unix)]
fn make_link(id: &str, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(id, path)
}

#[cfg(windows)]
fn make_link(id: &str, path: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(id, path)
}

#[cfg(not(any(unix, windows)))]
fn make_link(_id: &str, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
