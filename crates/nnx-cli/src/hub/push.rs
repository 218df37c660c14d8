//! `nnx push`: publishes a folder or a model in a repository.

use std::path::Path;

use nnx::hub::{RepoId, Upload, UploadOptions};
use serde::Serialize;

use super::transfer;
use crate::arguments::hub::Push;
use crate::escape::escaped;
use crate::failure::Failure;
use crate::json;
use crate::outcome::Outcome;
use crate::size;

#[derive(Serialize)]
struct PushReport<'a> {
    repo: &'a str,
    url: &'a str,
    commit: &'a str,
    pull_request: Option<&'a str>,
    changed: bool,
    uploaded: &'a [String],
    deleted: &'a [String],
    left_out: &'a [String],
    ignored: &'a [String],
}

pub(super) fn run(arguments: &Push) -> Result<Outcome, Failure> {
    let repo = RepoId::parse(&arguments.repo)?;
    let mut options = UploadOptions::default()
        .create_pr(arguments.create_pr)
        .replace_weights(true)
        .allow_ignored(arguments.allow_ignored)
        .ignore_patterns(&arguments.exclude)
        .delete_patterns(&arguments.delete);
    if arguments.private {
        options = options.private(true);
    }
    if !arguments.include.is_empty() {
        options = options.allow_patterns(&arguments.include);
    }
    options.branch.clone_from(&arguments.branch);
    options.commit_message.clone_from(&arguments.message);
    options.path_in_repo.clone_from(&arguments.path_in_repo);
    let path = super::local(&arguments.path)?;
    let done = if path.is_dir() {
        transfer::hub(arguments.max_workers)?.upload_folder(&path, &repo, &options)?
    } else {
        model(&path, arguments, options)?
    };
    Ok(Outcome::success(if arguments.json {
        json::object(&report(&done))
    } else {
        text(&done)
    }))
}

/// Publishes a checkpoint of NNx as `save_pretrained` writes it.
#[cfg(feature = "net")]
fn model(path: &Path, arguments: &Push, options: UploadOptions) -> Result<Upload, Failure> {
    use nnx::hub::{ModelHubMixin, PushOptions};

    let checkpoint = nnx::NNCheckpoint::from_file(path)?;
    let model = nnx::NNModel::from_checkpoint(&checkpoint)
        .map_err(|error| Failure::from(error).in_path(path))?;
    let options = PushOptions::default()
        .upload(options)
        .hub(transfer::hub(arguments.max_workers)?);
    Ok(model.push_to_hub_with(&arguments.repo, &options)?)
}

#[cfg(not(feature = "net"))]
fn model(_: &Path, _: &Push, _: UploadOptions) -> Result<Upload, Failure> {
    Err(Failure::new(
        "unsupported",
        "publishing a checkpoint needs networks: install the command with the feature `net`, or \
         give the folder that `save_pretrained` wrote",
    ))
}

fn report(done: &Upload) -> PushReport<'_> {
    PushReport {
        repo: &done.repo,
        url: done.url(),
        commit: &done.commit,
        pull_request: done.pull_request_url.as_deref(),
        changed: done.changed,
        uploaded: &done.uploaded,
        deleted: &done.deleted,
        left_out: &done.left_out,
        ignored: &done.ignored,
    }
}

fn text(done: &Upload) -> String {
    let url = escaped(done.url());
    let left_out = match done.left_out.len() {
        0 => String::new(),
        count => format!(
            "left out {}: locks, temporary files, and files of git and the `hf` tools\n",
            size::count(count, "name")
        ),
    };
    let ignored = match done.ignored.as_slice() {
        [] => String::new(),
        names => format!(
            "not uploaded, because `.gitignore` ignores {}: `{}`\n",
            size::count(names.len(), "file"),
            escaped(&names.join("`, `"))
        ),
    };
    if !done.changed {
        let nothing = if done.ignored.is_empty() {
            "nothing changed"
        } else {
            "nothing changed except ignored files"
        };
        return format!(
            "{}: {nothing}, no commit was made\n{left_out}{ignored}",
            escaped(&done.repo)
        );
    }
    let deleted = match done.deleted.len() {
        0 => String::new(),
        count => format!(", deleted {count}"),
    };
    format!(
        "{}: uploaded {}{deleted}\n{left_out}{ignored}{url}\n",
        escaped(&done.repo),
        size::count(done.uploaded.len(), "file"),
    )
}
