//! `nnx pull`: downloads a repository.

use std::path::Path;

use nnx::hub::{RepoId, SnapshotOptions, copy_files};
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
    known_complete: bool,
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
    let mut hub = transfer::hub(arguments.max_workers)?;
    if arguments.verify {
        hub = hub.verify_cached(true);
    }
    let snapshot = hub.snapshot_files(&repo, &options)?;
    if snapshot.files.is_empty() {
        return Err(Failure::new(
            "entry_not_found",
            format!("no file of `{repo}` matches the request"),
        ));
    }
    let folder = match &arguments.to {
        Some(target) => {
            copy_files(&snapshot.folder, &snapshot.files, target)?;
            target
        }
        None => &snapshot.folder,
    };
    let mut files: Vec<&Path> = snapshot.files.iter().map(Path::new).collect();
    files.sort();
    Ok(Outcome::success(if arguments.json {
        json::object(&PullReport {
            repo: repo.to_string(),
            folder: PathText::new(folder),
            files: files.into_iter().map(PathText::new).collect(),
            known_complete: snapshot.known_complete,
        })
    } else {
        format!("{}\n", escaped(&folder.display().to_string()))
    }))
}
