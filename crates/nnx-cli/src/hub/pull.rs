//! `nnx pull`: downloads a repository.

use std::fs;
use std::path::{Path, PathBuf};

use nnx::hub::{RepoId, SnapshotOptions, copy_files, pattern_matches};
use serde::Serialize;

use super::transfer;
use crate::arguments::hub::Pull;
use crate::escape::escaped;
use crate::failure::Failure;
use crate::json;
use crate::outcome::Outcome;
use crate::path::PathText;

#[derive(Serialize)]
struct PullReport {
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
    let mut files = files_below(&folder)?;
    // The cache may contain more files than were requested.
    files.retain(|file| is_wanted(file, arguments));
    if files.is_empty() {
        return Err(Failure::new(
            "entry_not_found",
            format!("no file of `{repo}` matches the request"),
        ));
    }
    if let Some(target) = &arguments.to {
        let names: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
        let kept = copy_files(&folder, &names, target)?;
        if !kept.is_empty() {
            transfer::print_note(&format!(
                "`{}` keeps files that are not of this version and may not fit it: `{}`",
                target.display(),
                kept.join("`, `")
            ));
        }
        folder.clone_from(target);
    }
    Ok(Outcome::success(if arguments.json {
        json::object(&PullReport {
            repo: repo.to_string(),
            folder: PathText::new(&folder),
            files: files.iter().map(|file| PathText::new(file)).collect(),
        })
    } else {
        format!("{}\n", escaped(&folder.display().to_string()))
    }))
}

/// Whether the patterns select a file.
fn is_wanted(file: &Path, arguments: &Pull) -> bool {
    let name = file.to_string_lossy();
    let is_of = |patterns: &[String]| {
        patterns
            .iter()
            .any(|pattern| pattern_matches(&name, pattern))
    };
    (arguments.include.is_empty() || is_of(&arguments.include)) && !is_of(&arguments.exclude)
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
