//! The files that a scan is about.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::entry_path::EntryPath;
use super::error::ScanError;
use super::file_fingerprint::FileFingerprint;
use super::report::FileReport;
use super::scanner::Scanner;

/// A file to be scanned, or why it cannot be.
#[derive(Clone, Debug)]
pub struct Candidate {
    path: PathBuf,
    error: Option<ScanError>,
}

impl Candidate {
    /// The file, or a folder that could not be listed or has no file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Scans the file.
    pub fn scan(&self) -> FileReport {
        match &self.error {
            Some(error) => FileReport::failed(&self.path, error.clone()),
            None => scan_file(&self.path),
        }
    }
}

/// Scans one file, if it is the same before and after.
pub(super) fn scan_file(path: &Path) -> FileReport {
    let scanned = FileFingerprint::new(path).and_then(|before| {
        let source = before.open(path)?;
        let mut scanner = Scanner::default();
        scanner.file(source.bytes());
        if FileFingerprint::new(path)? != before {
            let message = "the file changed while it was looked at";
            scanner.fail(ScanError::new("io", message), &EntryPath::default());
        }
        Ok(scanner.into_report(Some(path)))
    });
    scanned.unwrap_or_else(|error| FileReport::failed(path, error.in_path(path)))
}

/// The files at and below the paths, those of a folder in the order of their names.
///
/// Links are followed, since the caches of model hubs consist of them; each folder is entered once,
/// so a loop of links ends. A path below which there is no file is a candidate itself, which cannot
/// be scanned: that nothing was found does not say that a path is safe.
pub fn candidates(paths: &[PathBuf]) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut entered = HashSet::new();
    for path in paths {
        let before = (found.len(), entered.len());
        walk(path, &mut entered, &mut found);
        if before.0 == found.len() && before.1 < entered.len() {
            found.push(Candidate {
                path: path.clone(),
                error: Some(ScanError::new("empty", "no file is in the folder")),
            });
        }
    }
    found
}

fn walk(path: &Path, entered: &mut HashSet<PathBuf>, found: &mut Vec<Candidate>) {
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
            found.push(Candidate {
                error: failure.map(|error| refused(error, &path)),
                path,
            });
        }
    }
}

/// The contents of a folder, and the error that stopped the listing of it; none when the path is no
/// folder, nothing when it was entered before.
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

fn refused(error: io::Error, path: &Path) -> ScanError {
    ScanError::from(crate::Error::from(error)).in_path(path)
}
