//! Loads the model of a command.

use std::path::{Path, PathBuf};

use nnx::NNModel;
use nnx::checkpoint::{Limits, NNCheckpoint, OpenOptions};
use nnx::hub::{ErrorKind, Folder, LoadOptions, ModelHubMixin};
use nnx::params::{Devices, Value};

use crate::arguments::networks::{Device, Model};
use crate::failure::Failure;
use crate::remote::{Remote, remote_url};

/// The file of a tokenizer, unless a configuration names another.
const TOKENIZER: &str = "tokenizer.json";

/// A model that can run.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) model: NNModel,
    /// The path of its tokenizer, if it has one; `None` for a model that is not on the disk.
    pub(super) tokenizer: Option<PathBuf>,
}

/// Loads the model.
///
/// # Errors
/// When it cannot be read, or cannot run. The error contains the path.
pub(crate) fn load(arguments: &Model) -> Result<Loaded, Failure> {
    let device = match arguments.device {
        Device::Cpu => Devices::Cpu,
        Device::Cuda => Devices::Cuda,
        Device::Mps => Devices::Mps,
    };
    if let Some(url) = remote_url(&arguments.model).filter(|_| arguments.root.is_none()) {
        return in_store(url, device);
    }
    let path = match arguments.root {
        Some(_) => checkpoint_of_run(arguments)?,
        None => crate::hub::local(&arguments.model)?.into_owned(),
    };
    if path.is_dir() {
        return in_folder(&path, device);
    }
    let checkpoint = NNCheckpoint::from_file(&path)?;
    let model = NNModel::from_checkpoint_on(&checkpoint, device);
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(Loaded {
        model: model.map_err(|error| Failure::from(error).in_path(&path))?,
        tokenizer: Some(folder.join(TOKENIZER)),
    })
}

/// Loads the model of a checkpoint in a store. Its bytes are read once, and not kept on the disk.
fn in_store(url: &str, device: Devices) -> Result<Loaded, Failure> {
    let reader = Remote::in_store(url)?.open(&OpenOptions::default())?;
    let url = Path::new(url);
    let checkpoint = NNCheckpoint::from_reader(&reader, &Limits::default())
        .map_err(|error| error.in_path(url))?;
    let model = NNModel::from_checkpoint_on(&checkpoint, device);
    Ok(Loaded {
        model: model.map_err(|error| Failure::from(error).in_path(url))?,
        tokenizer: None,
    })
}

/// Loads the model of a folder that `save_pretrained` wrote.
fn in_folder(path: &Path, device: Devices) -> Result<Loaded, Failure> {
    let options = LoadOptions::default().device(device);
    let model = NNModel::from_pretrained_with(path, &options).map_err(|error| {
        // The errors of the net contain no location, the others do.
        let is_of_net = matches!(error.kind(), ErrorKind::Model(_));
        let failure = Failure::from(error);
        if is_of_net {
            failure.in_path(path)
        } else {
            failure
        }
    })?;
    let config = Folder::new(path).config_state()?;
    let tokenizer = config.get("tokenizer").and_then(Value::as_map);
    let name = tokenizer.and_then(|tokenizer| tokenizer.get("filename")?.as_str());
    // A configuration may name a file in its folder, and no file elsewhere.
    let name = name.and_then(|name| Path::new(name).file_name());
    Ok(Loaded {
        model,
        tokenizer: Some(path.join(name.unwrap_or(TOKENIZER.as_ref()))),
    })
}

/// The file of a run's checkpoint.
#[cfg(feature = "run")]
fn checkpoint_of_run(arguments: &Model) -> Result<PathBuf, Failure> {
    use nnx::params::Checkpoints;
    use nnx::run::{CheckpointStore, CheckpointTag};

    let root = arguments.root.as_deref().unwrap_or(Path::new(""));
    let id = arguments.model.to_string_lossy();
    let store = CheckpointStore::new(&id, root)?;
    let tags = store.tags()?;
    let tag = match &arguments.tag {
        Some(tag) => tag.parse()?,
        None => {
            let [best, last] = [Checkpoints::Best, Checkpoints::Last].map(CheckpointTag::from);
            if tags.contains(&best) { best } else { last }
        }
    };
    let path = store.path(&tag);
    if tags.is_empty() && !path.ancestors().nth(2).is_some_and(Path::is_dir) {
        let what = format!("there is no run `{id}` in `{}`", root.display());
        return Err(Failure::new("no_such_run", what));
    }
    if !tags.contains(&tag) {
        let tags: Vec<&str> = tags.iter().map(CheckpointTag::as_str).collect();
        let what = format!(
            "run `{id}` has no checkpoint `{tag}`, it has `{}`",
            tags.join("`, `")
        );
        return Err(Failure::new("not_found", what));
    }
    Ok(path)
}

/// The file of a run's checkpoint.
#[cfg(not(feature = "run"))]
fn checkpoint_of_run(_: &Model) -> Result<PathBuf, Failure> {
    Err(Failure::new(
        "unsupported",
        "`--root` needs the runs on disk: install the command with its default features, or with \
         the feature `run`",
    ))
}
