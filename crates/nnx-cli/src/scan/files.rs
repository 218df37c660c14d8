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
/// loop of links ends.
pub(super) fn below(paths: &[PathBuf]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut entered = HashSet::new();
    let mut waiting: Vec<PathBuf> = paths.iter().rev().cloned().collect();
    while let Some(path) = waiting.pop() {
        match members(&path, &mut entered) {
            Ok(Some(members)) => waiting.extend(members.into_iter().rev()),
            Ok(None) => found.push(Found {
                path,
                failure: None,
            }),
            Err(error) => found.push(Found {
                failure: Some(refused(error, &path)),
                path,
            }),
        }
    }
    found
}

/// What lies in a folder; none when the path is no folder, nothing when it was entered before.
fn members(path: &Path, entered: &mut HashSet<PathBuf>) -> io::Result<Option<Vec<PathBuf>>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(None);
    }
    if !entered.insert(fs::canonicalize(path)?) {
        return Ok(Some(Vec::new()));
    }
    let members = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
    let mut members = members.collect::<io::Result<Vec<_>>>()?;
    members.sort();
    Ok(Some(members))
}

fn refused(error: io::Error, path: &Path) -> Failure {
    Failure::from(nnx_checkpoint::Error::from(error)).in_path(path)
}
