//! The files that a scan is about.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file to be judged, or why it cannot be.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) failure: Option<Failure>,
}

/// The files at and below the paths, those of a folder in the order of their names. Links are
/// followed, since the caches of model hubs consist of them; each folder is entered once, so a
/// loop of links ends. A path below which there is no file stands for itself, as a failure: whoever
/// asks whether it is safe must not hear that nothing was found.
pub(super) fn below(paths: &[PathBuf]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut entered = HashSet::new();
    for path in paths {
        let before = (found.len(), entered.len());
        walk(path, &mut entered, &mut found);
        if before.0 == found.len() && before.1 < entered.len() {
            found.push(Found {
                path: path.clone(),
                failure: Some(Failure::new("empty", "no file is in the folder")),
            });
        }
    }
    found
}

fn walk(path: &Path, entered: &mut HashSet<PathBuf>, found: &mut Vec<Found>) {
    let mut waiting: Vec<PathBuf> = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let failure = match members(&path, entered) {
            Ok(Some((members, failure))) => {
                waiting.extend(members.into_iter().rev());
                failure.map(Some)
            }
            Ok(None) => Some(None),
            Err(error) => Some(Some(error)),
        };
        if let Some(failure) = failure {
            found.push(Found {
                failure: failure.map(|error| refused(error, &path)),
                path,
            });
        }
    }
}

/// What lies in a folder, and what stopped the listing of it; none when the path is no folder,
/// nothing when it was entered before.
fn members(
    path: &Path,
    entered: &mut HashSet<PathBuf>,
) -> io::Result<Option<(Vec<PathBuf>, Option<io::Error>)>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(None);
    }
    if !entered.insert(fs::canonicalize(path)?) {
        return Ok(Some((Vec::new(), None)));
    }
    let (mut members, mut failure) = (Vec::new(), None);
    for entry in fs::read_dir(path)? {
        match entry {
            Ok(entry) => members.push(entry.path()),
            Err(error) => failure = Some(error),
        }
    }
    members.sort();
    Ok(Some((members, failure)))
}

fn refused(error: io::Error, path: &Path) -> Failure {
    Failure::from(nnx::checkpoint::Error::from(error)).in_path(path)
}
