//! The options of `save_pretrained`, `from_pretrained` and `push_to_hub`.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use nnx_params::{Devices, State, Value};

use crate::card::ModelCard;
use crate::error::{Error, ErrorKind, Result};
use crate::hub::{Hub, UploadOptions};
use crate::progress::{Event, Progress};
use crate::setters::setters;

/// The default limit of tensor bytes in one weights file, as in `huggingface_hub`.
pub const MAX_SHARD_BYTES: u64 = 5_000_000_000;

/// How a model is saved.
#[derive(Clone)]
#[non_exhaustive]
pub struct SaveOptions {
    /// The most tensor bytes in one weights file. Default: [`MAX_SHARD_BYTES`].
    pub max_shard_bytes: u64,
    /// The model card, in place of the model's own. An existing `README.md` is always kept.
    /// Default: none.
    pub card: Option<ModelCard>,
    /// Receives notes, such as one that Python's mixin does not read weights in several files.
    /// Default: none.
    pub progress: Option<Arc<dyn Progress>>,
}

impl Default for SaveOptions {
    fn default() -> Self {
        Self {
            max_shard_bytes: MAX_SHARD_BYTES,
            card: None,
            progress: None,
        }
    }
}

impl SaveOptions {
    setters! {
        max_shard_bytes(bytes: u64) = bytes;
        card(card: ModelCard) = Some(card);
        progress(progress: Arc<dyn Progress>) = Some(progress);
    }
}

impl fmt::Debug for SaveOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SaveOptions")
            .field("max_shard_bytes", &self.max_shard_bytes)
            .field("card", &self.card)
            .finish_non_exhaustive()
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
    /// Whether only the cache is used. Default: the value of `HF_HUB_OFFLINE`.
    pub local_files_only: bool,
    /// The cache, in place of the client's. Default: none.
    pub cache_dir: Option<PathBuf>,
    /// The token, in place of the client's; with an empty one, no token is sent. Default: none.
    pub token: Option<crate::Token>,
    /// The device of the model, in place of the one in its configuration; for models that know
    /// devices. Default: the model's choice.
    pub device: Option<Devices>,
    /// Whether names that only the model or only the weights have are an error. A wrong shape is
    /// always an error. Default: none, and the model decides.
    pub strict: Option<bool>,
    /// The client. Default: [`Hub::from_env`], if the model is not a folder.
    pub hub: Option<Hub>,
    /// Receives the progress of the download, and notes. Default: none.
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

    /// Sets an option of the model; see [`ModelHubMixin::OPTIONS`](crate::ModelHubMixin::OPTIONS).
    #[must_use]
    pub fn option(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.insert(name, value);
        self
    }

    /// The value of an option of the model.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.options.get(name)
    }

    /// Sends a note to the receiver of the progress.
    pub fn note(&self, line: &str) {
        if let Some(progress) = &self.progress {
            progress.on(&Event::Note(line));
        }
    }

    /// Refuses options that the model does not know.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownOption`] for the first unknown option.
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

/// How a model is pushed: how it is saved, how the folder is uploaded, and by which client.
///
/// The setters of [`UploadOptions`] exist here as well.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct PushOptions {
    /// How the folder is uploaded. Weights that the model replaces under other names are always
    /// deleted, and the default message is the one of Python's mixin.
    pub upload: UploadOptions,
    /// How the model is saved before it is pushed.
    pub save: SaveOptions,
    /// The token, in place of the client's. Default: none.
    pub token: Option<crate::Token>,
    /// The client. Default: [`Hub::from_env`].
    pub hub: Option<Hub>,
    /// Receives the progress of the upload. Default: none.
    pub progress: Option<Arc<dyn Progress>>,
}

/// Makes setters that pass their value on to [`UploadOptions`].
macro_rules! upload_setters {
    ($($name:ident($value:ident: $of:ty);)*) => {$(
        #[doc = concat!("Sets [`UploadOptions::", stringify!($name), "`].")]
        #[must_use]
        pub fn $name(mut self, $value: $of) -> Self {
            self.upload = self.upload.$name($value);
            self
        }
    )*};
}

impl PushOptions {
    upload_setters! {
        commit_message(message: impl Into<String>);
        commit_description(text: impl Into<String>);
        private(private: bool);
        branch(branch: impl Into<String>);
        create_pr(create: bool);
        allow_patterns(patterns: impl IntoIterator<Item = impl Into<String>>);
        ignore_patterns(patterns: impl IntoIterator<Item = impl Into<String>>);
        delete_patterns(patterns: impl IntoIterator<Item = impl Into<String>>);
        allow_ignored(allow: bool);
        path_in_repo(path: impl Into<String>);
    }

    setters! {
        upload(upload: UploadOptions) = upload;
        save(save: SaveOptions) = save;
        token(token: crate::Token) = Some(token);
        hub(hub: Hub) = Some(hub);
        progress(progress: Arc<dyn Progress>) = Some(progress);
    }

    /// The client that the options ask for.
    ///
    /// # Errors
    /// As for [`Hub::from_env`].
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
            .field("upload", &self.upload)
            .field("save", &self.save)
            .finish_non_exhaustive()
    }
}
