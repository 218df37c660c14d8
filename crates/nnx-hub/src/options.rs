//! How the three verbs are told what to do.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use nnx_params::{Devices, State, Value};

use crate::Hub;
use crate::card::ModelCard;
use crate::error::{Error, ErrorKind, Result};
use crate::progress::{Event, Progress};

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
    /// Sets [`max_shard_bytes`](Self::max_shard_bytes).
    #[must_use]
    pub fn max_shard_bytes(mut self, bytes: u64) -> Self {
        self.max_shard_bytes = bytes;
        self
    }

    /// Sets [`card`](Self::card).
    #[must_use]
    pub fn card(mut self, card: ModelCard) -> Self {
        self.card = Some(card);
        self
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
    /// Sets [`revision`](Self::revision).
    #[must_use]
    pub fn revision(mut self, revision: impl Into<String>) -> Self {
        self.revision = Some(revision.into());
        self
    }

    /// Sets [`force_download`](Self::force_download).
    #[must_use]
    pub fn force_download(mut self, force: bool) -> Self {
        self.force_download = force;
        self
    }

    /// Sets [`local_files_only`](Self::local_files_only).
    #[must_use]
    pub fn local_files_only(mut self, local: bool) -> Self {
        self.local_files_only = local;
        self
    }

    /// Sets [`cache_dir`](Self::cache_dir).
    #[must_use]
    pub fn cache_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.cache_dir = Some(path.into());
        self
    }

    /// Sets [`token`](Self::token).
    #[must_use]
    pub fn token(mut self, token: crate::Token) -> Self {
        self.token = Some(token);
        self
    }

    /// Sets [`device`](Self::device).
    #[must_use]
    pub fn device(mut self, device: Devices) -> Self {
        self.device = Some(device);
        self
    }

    /// Sets [`strict`](Self::strict).
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = Some(strict);
        self
    }

    /// Sets [`hub`](Self::hub).
    #[must_use]
    pub fn hub(mut self, hub: Hub) -> Self {
        self.hub = Some(hub);
        self
    }

    /// Sets [`progress`](Self::progress).
    #[must_use]
    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
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
    /// Sets [`commit_message`](Self::commit_message).
    #[must_use]
    pub fn commit_message(mut self, message: impl Into<String>) -> Self {
        self.commit_message = Some(message.into());
        self
    }

    /// Sets [`commit_description`](Self::commit_description).
    #[must_use]
    pub fn commit_description(mut self, text: impl Into<String>) -> Self {
        self.commit_description = Some(text.into());
        self
    }

    /// Sets [`private`](Self::private).
    #[must_use]
    pub fn private(mut self, private: bool) -> Self {
        self.private = Some(private);
        self
    }

    /// Sets [`branch`](Self::branch).
    #[must_use]
    pub fn branch(mut self, branch: impl Into<String>) -> Self {
        self.branch = Some(branch.into());
        self
    }

    /// Sets [`create_pr`](Self::create_pr).
    #[must_use]
    pub fn create_pr(mut self, create: bool) -> Self {
        self.create_pr = create;
        self
    }

    /// Sets [`allow_patterns`](Self::allow_patterns).
    #[must_use]
    pub fn allow_patterns(mut self, of: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allow_patterns = Some(of.into_iter().map(Into::into).collect());
        self
    }

    /// Sets [`ignore_patterns`](Self::ignore_patterns).
    #[must_use]
    pub fn ignore_patterns(mut self, of: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.ignore_patterns = of.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`delete_patterns`](Self::delete_patterns).
    #[must_use]
    pub fn delete_patterns(mut self, of: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.delete_patterns = of.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`replace_weights`](Self::replace_weights).
    #[must_use]
    pub fn replace_weights(mut self, replace: bool) -> Self {
        self.replace_weights = replace;
        self
    }

    /// Sets [`path_in_repo`](Self::path_in_repo).
    #[must_use]
    pub fn path_in_repo(mut self, path: impl Into<String>) -> Self {
        self.path_in_repo = Some(path.into());
        self
    }

    /// Sets [`token`](Self::token).
    #[must_use]
    pub fn token(mut self, token: crate::Token) -> Self {
        self.token = Some(token);
        self
    }

    /// Sets [`save`](Self::save).
    #[must_use]
    pub fn save(mut self, save: SaveOptions) -> Self {
        self.save = save;
        self
    }

    /// Sets [`hub`](Self::hub).
    #[must_use]
    pub fn hub(mut self, hub: Hub) -> Self {
        self.hub = Some(hub);
        self
    }

    /// Sets [`progress`](Self::progress).
    #[must_use]
    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
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
            .field("path_in_repo", &self.path_in_repo)
            .finish_non_exhaustive()
    }
}
