//! How the three verbs are told what to do.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use nnx_params::{Devices, State, Value};

use crate::Hub;
use crate::card::ModelCard;
use crate::error::{Error, ErrorKind, Result};
use crate::progress::{Event, Progress};
use crate::setters::setters;

/// The most bytes of tensors in one file of weights, as in `huggingface_hub`.
pub const MAX_SHARD_BYTES: u64 = 5_000_000_000;

/// How a model is saved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SaveOptions {
    /// The most bytes of tensors in one file of weights. Default: [`MAX_SHARD_BYTES`].
    pub max_shard_bytes: u64,
    /// The model card, in the place of the model's own. A `README.md` that is there stays either
    /// way. Default: none.
    pub card: Option<ModelCard>,
}

impl Default for SaveOptions {
    fn default() -> Self {
        Self {
            max_shard_bytes: MAX_SHARD_BYTES,
            card: None,
        }
    }
}

impl SaveOptions {
    setters! {
        max_shard_bytes(bytes: u64) = bytes;
        card(card: ModelCard) = Some(card);
    }
}

/// How a model is loaded.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct LoadOptions {
    /// The branch, tag or commit. Default: `main`.
    pub revision: Option<String>,
    /// Whether files in the cache are downloaded again. Default: `false`.
    pub force_download: bool,
    /// Whether only the cache is used. Default: what `HF_HUB_OFFLINE` says.
    pub local_files_only: bool,
    /// The cache, in the place of the client's. Default: none.
    pub cache_dir: Option<PathBuf>,
    /// The token, in the place of the client's; an empty one sends none. Default: none.
    pub token: Option<crate::Token>,
    /// Where the model shall compute, in the place of what its configuration says; for models that
    /// know devices. Default: the model's own choice.
    pub device: Option<Devices>,
    /// Whether names that the model or the weights lack are an error; none is the model's own
    /// default. A wrong shape always is one. Default: none.
    pub strict: Option<bool>,
    /// The client. Default: [`Hub::from_env`], made when the model is not a folder.
    pub hub: Option<Hub>,
    /// Told of what is downloaded and left out. Default: nobody.
    pub progress: Option<Arc<dyn Progress>>,
    options: State,
}

impl LoadOptions {
    setters! {
        revision(revision: impl Into<String>) = Some(revision.into());
        force_download(force: bool) = force;
        local_files_only(local: bool) = local;
        cache_dir(path: impl Into<PathBuf>) = Some(path.into());
        token(token: crate::Token) = Some(token);
        device(device: Devices) = Some(device);
        strict(strict: bool) = Some(strict);
        hub(hub: Hub) = Some(hub);
        progress(progress: Arc<dyn Progress>) = Some(progress);
    }

    /// Sets an option of the model's own; see [`ModelHubMixin::OPTIONS`](crate::ModelHubMixin::OPTIONS).
    #[must_use]
    pub fn option(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.insert(name, value);
        self
    }

    /// The value of an option of the model's own.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.options.get(name)
    }

    /// Tells whoever listens a line, such as what was left out.
    pub fn note(&self, line: &str) {
        if let Some(progress) = &self.progress {
            progress.on(&Event::Note(line));
        }
    }

    /// Refuses options that the model does not have.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownOption`] for the first of them.
    pub(crate) fn refuse_unknown(&self, known: &[&str]) -> Result<()> {
        match self.options.keys().find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(option) => Err(Error::from(ErrorKind::UnknownOption {
                option: option.to_owned(),
                known: known.iter().map(|name| (*name).to_owned()).collect(),
            })),
        }
    }
}

impl fmt::Debug for LoadOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadOptions")
            .field("revision", &self.revision)
            .field("force_download", &self.force_download)
            .field("local_files_only", &self.local_files_only)
            .field("cache_dir", &self.cache_dir)
            .field("device", &self.device)
            .field("strict", &self.strict)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// How a folder is uploaded.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct PushOptions {
    /// The first line of the commit. Default: that of Python's mixin, or of `upload_folder`.
    pub commit_message: Option<String>,
    /// More on the commit. Default: none.
    pub commit_description: Option<String>,
    /// Whether a repository that is made is private. Default: what the Hub makes of it.
    pub private: Option<bool>,
    /// The branch, which must exist. Default: `main`.
    pub branch: Option<String>,
    /// Whether the commit becomes a pull request. Default: `false`.
    pub create_pr: bool,
    /// Patterns of which a file must match one. Default: none, and every file is taken.
    pub allow_patterns: Option<Vec<String>>,
    /// Patterns of files that are left out. Default: none.
    pub ignore_patterns: Vec<String>,
    /// Patterns of files in the repository that the commit deletes, unless it has them. Default:
    /// none.
    pub delete_patterns: Vec<String>,
    /// Whether weights that are in the repository go when the commit brings all weights of a model
    /// under other names: shards and their index in the place of one file, or the other way round.
    /// They would be read in the place of the new ones, or beside them. Default: `false`; pushing a
    /// model does it always.
    pub replace_weights: bool,
    /// Whether weights may be among the files that `.gitignore` keeps out of the repository. They are
    /// not uploaded, and nothing is deleted in their place. Without this option, such a push is an
    /// error. Default: `false`.
    pub allow_ignored: bool,
    /// The folder within the repository. Default: its root.
    pub path_in_repo: Option<String>,
    /// The token, in the place of the client's. Default: none.
    pub token: Option<crate::Token>,
    /// How the model is saved before it is pushed.
    pub save: SaveOptions,
    /// The client. Default: [`Hub::from_env`].
    pub hub: Option<Hub>,
    /// Told of what is uploaded. Default: nobody.
    pub progress: Option<Arc<dyn Progress>>,
}

impl PushOptions {
    setters! {
        commit_message(message: impl Into<String>) = Some(message.into());
        commit_description(text: impl Into<String>) = Some(text.into());
        private(private: bool) = Some(private);
        branch(branch: impl Into<String>) = Some(branch.into());
        create_pr(create: bool) = create;
        allow_patterns(of: impl IntoIterator<Item = impl Into<String>>) = Some(of.into_iter().map(Into::into).collect());
        ignore_patterns(of: impl IntoIterator<Item = impl Into<String>>) = of.into_iter().map(Into::into).collect();
        delete_patterns(of: impl IntoIterator<Item = impl Into<String>>) = of.into_iter().map(Into::into).collect();
        replace_weights(replace: bool) = replace;
        allow_ignored(allow: bool) = allow;
        path_in_repo(path: impl Into<String>) = Some(path.into());
        token(token: crate::Token) = Some(token);
        save(save: SaveOptions) = save;
        hub(hub: Hub) = Some(hub);
        progress(progress: Arc<dyn Progress>) = Some(progress);
    }

    /// The client that the options ask for.
    ///
    /// # Errors
    /// Those of [`Hub::from_env`].
    pub(crate) fn client(&self) -> Result<Hub> {
        let hub = match &self.hub {
            Some(hub) => hub.clone(),
            None => Hub::from_env()?,
        };
        Ok(hub.overridden(self.token.as_ref(), None, self.progress.as_ref()))
    }
}

impl fmt::Debug for PushOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushOptions")
            .field("commit_message", &self.commit_message)
            .field("private", &self.private)
            .field("branch", &self.branch)
            .field("create_pr", &self.create_pr)
            .field("allow_patterns", &self.allow_patterns)
            .field("ignore_patterns", &self.ignore_patterns)
            .field("delete_patterns", &self.delete_patterns)
            .field("replace_weights", &self.replace_weights)
            .field("allow_ignored", &self.allow_ignored)
            .field("path_in_repo", &self.path_in_repo)
            .finish_non_exhaustive()
    }
}
