//! The upload of a folder as one commit.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::Hub;
use super::commit::CommitPlan;
use super::local::{self, LocalFile, LocalFiles};
use super::preupload::UploadMode;
use super::repository::{GIT_ATTRIBUTES, check_revision};
use super::upload_options::UploadOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::patterns;
use crate::progress::{Direction, Event};
use crate::repo_id::RepoId;
use crate::tree_entry::TreeEntry;
use crate::weights::{folders_of_weights, is_within, looks_like_weights, replaced, shard_names};

/// The default commit message of `huggingface_hub`.
const COMMIT_MESSAGE: &str = "Upload folder using huggingface_hub";

/// The result of an upload.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Upload {
    /// The repository's full name.
    pub repo: String,
    /// The commit; if nothing changed, the current commit of the branch.
    pub commit: String,
    /// The URL of the commit's page.
    pub commit_url: String,
    /// The URL of the pull request's page, if one was made.
    pub pull_request_url: Option<String>,
    /// Whether a commit was made.
    pub changed: bool,
    /// The names of the uploaded files, sorted.
    pub uploaded: Vec<String>,
    /// The names of the deleted files.
    pub deleted: Vec<String>,
    /// The files of the folder that are never uploaded: locks, temporary files, and files of git or
    /// a cache. Files that the patterns exclude are not listed.
    pub left_out: Vec<String>,
    /// The files that differ from those of the repository and were not uploaded, because a
    /// `.gitignore` names them: the one in the folder, or else the repository's own.
    pub ignored: Vec<String>,
}

impl Upload {
    /// The URL of the pull request if one was made, otherwise of the commit.
    pub fn url(&self) -> &str {
        self.pull_request_url.as_deref().unwrap_or(&self.commit_url)
    }
}

impl Hub {
    /// Uploads a folder as one commit. The repository is created if it is absent.
    ///
    /// Files that the repository already has are not sent, and if it has all of them, no commit is
    /// made. Locks and temporary files of NNx, git's folder and caches of the `hf` tools are left
    /// out, so that a run (`runs/<id>/`) can be uploaded while it is being written.
    ///
    /// The Hub refuses files that a `.gitignore` names. They are in [`Upload::ignored`], and nothing
    /// in the repository is deleted because of them.
    ///
    /// # Errors
    /// [`ErrorKind::WeightsIgnored`] when weights are among the files that the Hub refuses, unless
    /// [`UploadOptions::allow_ignored`] is set; [`ErrorKind::MissingFile`] when there is nothing to
    /// upload or delete; [`ErrorKind::TokenMissing`]; [`ErrorKind::Forbidden`];
    /// [`ErrorKind::RevisionNotFound`] when the branch is absent; [`ErrorKind::Conflict`] when
    /// another commit was made in the meantime; [`ErrorKind::CommitUnknown`]; or an error of the
    /// network or the disk. Nothing was committed, except perhaps with `CommitUnknown`.
    pub fn upload_folder(
        &self,
        folder: impl AsRef<Path>,
        repo: &RepoId,
        options: &UploadOptions,
    ) -> Result<Upload> {
        self.need_network("uploading")?;
        let branch = options.branch.as_deref().unwrap_or("main");
        check_revision(branch)?;
        if self.client.token.is_none() {
            return Err(Error::from(ErrorKind::TokenMissing));
        }
        let LocalFiles { files, left_out } = local::files(
            folder.as_ref(),
            within(options),
            options.allow_patterns.as_deref(),
            &options.ignore_patterns,
        )?;
        if files.is_empty() && options.delete_patterns.is_empty() {
            return Err(Error::from(ErrorKind::MissingFile {
                folder: folder.as_ref().to_path_buf(),
                file: "file to upload".to_owned(),
                hint: "check the folder, and the patterns that files must match",
            }));
        }
        let repo = self.create_repo(repo, options.private)?;
        let mut upload = self.upload_files(&files, &repo, branch, options)?;
        upload.left_out = left_out;
        Ok(upload)
    }

    fn upload_files(
        &self,
        files: &[LocalFile],
        repo: &RepoId,
        branch: &str,
        options: &UploadOptions,
    ) -> Result<Upload> {
        let parent = self.repo_info(repo, branch)?.commit;
        let tree = self.tree(repo, &parent)?;
        let there: HashMap<&str, &TreeEntry> = tree
            .iter()
            .map(|entry| (entry.path.as_str(), entry))
            .collect();
        let changed = self.side_by_side(files, |_, file| {
            let is_there = match there.get(file.name.as_str()) {
                Some(entry) => entry.size == file.size && file.is(&entry.digest)?,
                None => false,
            };
            Ok((!is_there).then(|| file.clone()))
        })?;
        let changed: Vec<LocalFile> = changed.into_iter().flatten().collect();
        let modes = if changed.is_empty() {
            Default::default()
        } else {
            self.preupload(repo, branch, options.create_pr, &changed)?
        };
        let of_mode = |mode: UploadMode| -> Vec<&LocalFile> {
            changed
                .iter()
                .filter(|file| modes.get(&file.name) == Some(&mode))
                .collect()
        };
        let (regular, large) = (of_mode(UploadMode::Regular), of_mode(UploadMode::Lfs));
        let ignored: Vec<&str> = of_mode(UploadMode::Ignored)
            .into_iter()
            .map(|file| file.name.as_str())
            .collect();
        let ignored_weights: Vec<String> = ignored
            .iter()
            .filter(|name| looks_like_weights(name))
            .map(|name| (*name).to_owned())
            .collect();
        if !ignored_weights.is_empty() && !options.allow_ignored {
            return Err(Error::from(ErrorKind::WeightsIgnored {
                repo: repo.to_string(),
                files: ignored_weights,
            }));
        }
        let deleted = deleted(&tree, files, &ignored, options);
        let mut uploaded: Vec<String> = regular
            .iter()
            .chain(&large)
            .map(|file| file.name.clone())
            .collect();
        uploaded.sort();
        let mut upload = Upload {
            repo: repo.to_string(),
            commit_url: format!("{}/{repo}/commit/{parent}", self.endpoint()),
            commit: parent.clone(),
            pull_request_url: None,
            changed: false,
            uploaded,
            deleted: deleted.iter().map(|name| (*name).to_owned()).collect(),
            left_out: Vec::new(),
            ignored: ignored.iter().map(|name| (*name).to_owned()).collect(),
        };
        if upload.uploaded.is_empty() && upload.deleted.is_empty() {
            return Ok(upload);
        }
        self.client.notify(&Event::Planned {
            direction: Direction::Up,
            files: upload.uploaded.len(),
            bytes: regular.iter().chain(&large).map(|file| file.size).sum(),
        });
        self.side_by_side(&regular, |_, file| file.git_sha1().map(drop))?;
        self.upload_lfs(repo, (!options.create_pr).then_some(branch), &large)?;
        let summary = options.commit_message.as_deref().unwrap_or(COMMIT_MESSAGE);
        let made = self.commit(&CommitPlan {
            repo,
            branch,
            parent: &parent,
            tree: &tree,
            create_pr: options.create_pr,
            summary,
            description: options.commit_description.as_deref().unwrap_or_default(),
            regular: regular.clone(),
            large,
            deleted,
        })?;
        for file in regular {
            self.client.notify(&Event::Finished {
                direction: Direction::Up,
                file: &file.name,
            });
        }
        upload.changed = true;
        upload.commit = made.commit;
        upload.commit_url = made.url;
        upload.pull_request_url = made.pull_request_url;
        Ok(upload)
    }
}

/// The folder of the repository that receives the files; `None` for its root.
fn within(options: &UploadOptions) -> Option<&str> {
    let path = options.path_in_repo.as_deref()?.trim_matches('/');
    let path = path.strip_prefix("./").unwrap_or(path);
    Some(path).filter(|path| !matches!(*path, "" | "."))
}

/// The files of the repository that the commit deletes.
///
/// An ignored file is not uploaded, so it replaces nothing: the file of the same name is kept. If
/// weights are ignored, all weights in that folder are kept.
fn deleted<'a>(
    tree: &'a [TreeEntry],
    files: &[LocalFile],
    ignored: &[&str],
    options: &UploadOptions,
) -> Vec<&'a str> {
    let within = within(options);
    let inner = |path: &'a str| match within {
        None => Some(path),
        Some(within) => path.strip_prefix(within)?.strip_prefix('/'),
    };
    let names: BTreeSet<&str> = files.iter().map(|file| file.name.as_str()).collect();
    let coming = names.iter().copied();
    let coming: BTreeSet<&str> = coming.filter(|name| !ignored.contains(name)).collect();
    let paths = || tree.iter().map(|entry| entry.path.as_str());
    let shards = |index: &str| {
        let file = files.iter().find(|file| file.name == index)?;
        shard_names(&file.path)
    };
    let incomplete = folders_of_weights(ignored.iter().copied());
    let mut replaced: HashSet<&str> = if options.replace_weights {
        replaced(paths(), &coming, shards).into_iter().collect()
    } else {
        HashSet::new()
    };
    replaced.retain(|path| !is_within(path, &incomplete));
    paths()
        .filter(|path| {
            let is_meant =
                inner(path).is_some_and(|inner| patterns::any(inner, &options.delete_patterns));
            (is_meant || replaced.contains(path))
                && *path != GIT_ATTRIBUTES
                && !names.contains(path)
        })
        .collect()
}
