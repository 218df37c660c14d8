//! A model folder that is written.

mod copy;
mod staging;

#[cfg(feature = "candle")]
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use nnx_checkpoint::{StateDict, StateValue, Tensor, safetensors, save_atomic};
use nnx_params::{State, Value};
use serde::Serialize;

pub use self::copy::copy_files;
use self::staging::Staging;
use crate::config_json::{config_json, from_serde, ordered_json};
use crate::error::{BoxError, Error, Result};
use crate::folder::{CARD, CONFIG, INDEX, WEIGHTS};
use crate::safe_path;

/// Where a model puts its files. Nothing of it is in the folder before all of it is written.
///
/// The files are made beside their places and then moved there one by one, weights first and the
/// configuration last, so that a save that fails leaves the old folder as it was.
#[derive(Debug)]
pub struct FolderWriter {
    target: PathBuf,
    staged: Staging,
    /// The names of what was staged, in the order in which they take their places.
    files: Vec<String>,
    max_shard_bytes: u64,
}

impl FolderWriter {
    /// A writer for the folder, which is made if it is absent.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub(crate) fn new(target: &Path, max_shard_bytes: u64) -> Result<Self> {
        fs::create_dir_all(target).map_err(|error| Error::io(target, error))?;
        let staged = Staging::within(target).map_err(|error| Error::io(target, error))?;
        Ok(Self {
            target: target.to_path_buf(),
            staged,
            files: Vec::new(),
            max_shard_bytes,
        })
    }

    /// Writes the configuration from a type of yours, as Python's `json.dumps` with sorted keys
    /// would write it.
    ///
    /// # Errors
    /// When the type does not become a JSON object, or the operating system refuses.
    pub fn config<T: Serialize + ?Sized>(&mut self, config: &T) -> Result<()> {
        let json = serde_json::to_value(config).map_err(|error| Error::model(error.into()))?;
        match from_serde(json) {
            Value::Map(state) => self.config_state(&state),
            other => Err(Error::model(BoxError::from(format!(
                "a configuration becomes a JSON object, got a `{}`",
                other.type_name()
            )))),
        }
    }

    /// Writes the configuration from a mapping.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn config_state(&mut self, config: &State) -> Result<()> {
        self.file(CONFIG, config_json(config).as_bytes())
    }

    /// Writes the weights: `model.safetensors` without metadata, tied tensors under each of their
    /// names; more than the limit of the options, as shards with their index.
    ///
    /// # Errors
    /// When the state dict holds a value that is no tensor (all are named), a dtype that the format
    /// lacks, or the operating system refuses.
    pub fn state_dict(&mut self, state: &StateDict) -> Result<()> {
        let others: Vec<&str> = state.other_names().collect();
        if !others.is_empty() {
            return Err(Error::model(BoxError::from(format!(
                "safetensors holds tensors alone, and these are none: `{}`",
                others.join("`, `")
            ))));
        }
        let tensors = state.iter().filter_map(|(name, value)| match value {
            StateValue::Tensor(tensor) => Some((name, tensor)),
            StateValue::Object(_) => None,
        });
        self.weights(tensors, None)
    }

    /// Writes weights, with metadata if you have any.
    ///
    /// # Errors
    /// As for [`state_dict`](Self::state_dict), and when two tensors have one name.
    pub fn weights<'a>(
        &mut self,
        tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
        metadata: Option<&IndexMap<String, String>>,
    ) -> Result<()> {
        let tensors: Vec<(&str, &Tensor)> = tensors.into_iter().collect();
        let plain: Vec<&Tensor> = tensors.iter().map(|(_, tensor)| *tensor).collect();
        let shards = safetensors::split_into_shards(&plain, self.max_shard_bytes);
        if shards.len() == 1 {
            return self.safetensors(WEIGHTS, &tensors, metadata);
        }
        let mut weight_map = State::new();
        let count = shards.len();
        for (at, places) in shards.iter().enumerate() {
            let name = format!("model-{:05}-of-{count:05}.safetensors", at + 1);
            let held: Vec<_> = places
                .iter()
                .filter_map(|at| tensors.get(*at).copied())
                .collect();
            self.safetensors(&name, &held, metadata)?;
            for (tensor, _) in &held {
                weight_map.insert(*tensor, name.as_str());
            }
        }
        let total: u64 = plain.iter().map(|tensor| tensor.byte_len() as u64).sum();
        let about = State::from_iter([("total_size", total)]);
        let index = State::from_iter([("metadata", about), ("weight_map", weight_map)]);
        self.file(INDEX, ordered_json(&index).as_bytes())
    }

    fn safetensors(
        &mut self,
        name: &str,
        tensors: &[(&str, &Tensor)],
        metadata: Option<&IndexMap<String, String>>,
    ) -> Result<()> {
        save_atomic(self.staged.path().join(name), |out| {
            safetensors::write(out, tensors, metadata)
        })?;
        self.files.push(name.to_owned());
        Ok(())
    }

    /// Writes weights that candle has.
    ///
    /// # Errors
    /// As for [`state_dict`](Self::state_dict), and when a tensor cannot be brought to the CPU.
    #[cfg(feature = "candle")]
    pub fn tensors<'a, N: AsRef<str>>(
        &mut self,
        tensors: impl IntoIterator<Item = (N, &'a candle_core::Tensor)>,
    ) -> Result<()> {
        let mut named = BTreeMap::new();
        // A `VarMap` has no order; files with the same content have the same bytes.
        for (name, tensor) in tensors {
            named.insert(name.as_ref().to_owned(), Tensor::try_from(tensor)?);
        }
        let named = named.iter().map(|(name, tensor)| (name.as_str(), tensor));
        self.weights(named, None)
    }

    /// Writes a file of the model's own, such as `tokenizer.json`.
    ///
    /// # Errors
    /// [`ErrorKind::UnsafePath`](crate::ErrorKind::UnsafePath) when the name leads out of the folder, or the operating system
    /// refuses.
    pub fn file(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.file_with(name, |out| out.write_all(bytes))
    }

    /// Writes a file of the model's own piece by piece.
    ///
    /// # Errors
    /// As for [`file`](Self::file), and what `write` fails with.
    pub fn file_with(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<()> {
        safe_path::check(name)?;
        save_atomic(self.staged.path().join(name), |out| Ok(write(out)?))?;
        self.files.retain(|file| file != name);
        self.files.push(name.to_owned());
        Ok(())
    }

    /// Whether a file of that name was written.
    pub fn has(&self, name: &str) -> bool {
        self.files.iter().any(|file| file == name)
    }

    /// Puts every file in its place, and a model card if there is none.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub(crate) fn finish(mut self, card: impl FnOnce() -> String) -> Result<()> {
        if !self.has(CARD) && !self.target.join(CARD).exists() {
            self.file(CARD, card().as_bytes())?;
        }
        self.place_all()
    }

    /// Puts every file in its place, weights first and the configuration last.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub(crate) fn place_all(self) -> Result<()> {
        // An index over shards of two saves would give a mixture; without it there is an error.
        let mixes = |name: &String| is_shard(name) && self.target.join(name).exists();
        if self.files.iter().any(mixes) {
            remove(&self.target.join(INDEX))?;
        }
        let stale = self.stale_weights();
        let (last, first): (Vec<_>, Vec<_>) = self
            .files
            .iter()
            .partition(|name| *name == INDEX || *name == CONFIG);
        for name in first {
            self.place(name)?;
        }
        for name in stale {
            remove(&self.target.join(name))?;
        }
        for name in last {
            self.place(name)?;
        }
        Ok(())
    }

    fn place(&self, name: &str) -> Result<()> {
        let (from, to) = (self.staged.path().join(name), self.target.join(name));
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(|error| Error::io(parent, error))?;
        }
        fs::rename(&from, &to).map_err(|error| Error::io(&to, error))
    }

    /// Weights of an earlier save under names that the new one does not have; they would be read in
    /// the place of the new ones.
    fn stale_weights(&self) -> BTreeSet<String> {
        let wrote_weights = self.has(WEIGHTS) || self.has(INDEX);
        let Ok(entries) = fs::read_dir(&self.target) else {
            return BTreeSet::new();
        };
        entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| wrote_weights && is_weights(name) && !self.has(name))
            .collect()
    }
}

/// Whether a file is one that [`FolderWriter::weights`] writes.
pub(crate) fn is_weights(name: &str) -> bool {
    name == WEIGHTS || name == INDEX || is_shard(name)
}

/// Whether a file is one of several, as `huggingface_hub` names them.
fn is_shard(name: &str) -> bool {
    let digits = |text: &str| text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit());
    name.strip_prefix("model-")
        .and_then(|name| name.strip_suffix(".safetensors"))
        .and_then(|name| name.split_once("-of-"))
        .is_some_and(|(at, count)| digits(at) && digits(count))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path, error)),
        _ => Ok(()),
    }
}
