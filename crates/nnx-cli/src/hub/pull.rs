//! `nnx pull`: a repository onto the disk.

use std::fs;
use std::path::{Path, PathBuf};

use nnx::checkpoint::save_atomic;
use nnx::hub::{RepoId, SnapshotOptions};
use serde::Serialize;

use super::transfer;
use crate::arguments::hub::Pull;
use crate::escape::escaped;
use crate::failure::Failure;
use crate::json;
use crate::outcome::Outcome;
use crate::path::PathText;

#[derive(Serialize)]
struct Report {
    repo: String,
    #[serde(flatten)]
    folder: PathText,
    files: Vec<PathText>,
}

pub(super) fn run(arguments: &Pull) -> Result<Outcome, Failure> {
    let repo = RepoId::parse(&arguments.repo)?;
    let mut options = SnapshotOptions::default()
        .ignore_patterns(&arguments.exclude)
        .force_download(arguments.force)
        .local_files_only(arguments.offline);
    if !arguments.include.is_empty() {
        options = options.allow_patterns(&arguments.include);
    }
    options.revision.clone_from(&arguments.revision);
    let mut folder = transfer::hub()?.snapshot(&repo, &options)?;
    let files = files_below(&folder)?;
    if let Some(target) = &arguments.to {
        for file in &files {
            copy(&folder.join(file), &target.join(file))?;
        }
        folder.clone_from(target);
    }
    Ok(Outcome::success(if arguments.json {
        json::object(&Report {
            repo: repo.to_string(),
            folder: PathText::new(&folder),
            files: files.iter().map(|file| PathText::new(file)).collect(),
        })
    } else {
        format!("{}\n", escaped(&folder.display().to_string()))
    }))
}

/// Copies what a link of the cache leads to, whole or not at all.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let mut source = fs::File::open(from)
        .map_err(|error| Failure::new("io", error.to_string()).in_path(from))?;
    Ok(save_atomic(to, |w| {
        std::io::copy(&mut source, w)?;
        Ok(())
    })?)
}

/// The files below a folder, in the order of their names.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        let at = folder.join(&below);
        let failed = |error: std::io::Error| Failure::new("io", error.to_string()).in_path(&at);
        for entry in fs::read_dir(&at).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = below.join(entry.file_name());
            // The files of the cache are links.
            if entry.path().is_dir() {
                folders.push(name);
            } else {
                files.push(name);
            }
        }
    }
    files.sort();
    Ok(files)
}
