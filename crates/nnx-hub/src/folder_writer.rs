//! Writing a model folder.

mod copy;

#[cfg(feature = "candle")]
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use nnx_checkpoint::{StateDict, StateValue, Tensor, WeightsName, safetensors, save_atomic};
use nnx_params::{State, Value};
use serde::Serialize;

pub use self::copy::copy_files;
use crate::config_json::{config_json, from_serde, ordered_json};
use crate::error::{BoxError, Error, Result};
use crate::folder::{CARD, CONFIG};
use crate::safe_path;
use crate::staging::Staging;
use crate::weights::{INDEX, WEIGHTS, is_weights, replaced, shard_names};

/// The number of bytes that are compared at a time.
const BUFFER_BYTES: usize = 128 << 10;

/// Receives the files of a model. The folder is unchanged until all of them are written.
///
/// The files are written to a temporary folder and then renamed one by one, weights first and the
/// configuration last. A save that fails before the renames leaves the old folder unchanged.
#[derive(Debug)]
pub struct FolderWriter {
    target: PathBuf,
    staged: Staging,
    /// The names of the written files, in the order of the renames.
    files: Vec<String>,
    max_shard_bytes: u64,
}

impl FolderWriter {
    /// A writer for the folder, which is created if it is absent.
    ///
    /// # Errors
    /// When the operating system returns an error.
    pub(crate) fn new(target: &Path, max_shard_bytes: u64) -> Result<Self> {
        fs::create_dir_all(target).map_err(|error| Error::io(target, error))?;
        let staged = Staging::new_in(target).map_err(|error| Error::io(target, error))?;
        Ok(Self {
            target: target.to_path_buf(),
            staged,
            files: Vec::new(),
            max_shard_bytes,
        })
    }

    /// Writes the configuration from a type of yours, in the form of Python's `json.dumps` with
    /// sorted keys.
    ///
    /// # Errors
    /// When the value is not a JSON object, or the operating system returns an error.
    pub fn config<T: Serialize + ?Sized>(&mut self, config: &T) -> Result<()> {
        let json = serde_json::to_value(config).map_err(|error| Error::model(error.into()))?;
        match from_serde(json) {
            Value::Map(state) => self.config_state(&state),
            other => Err(Error::model(BoxError::from(format!(
                "the configuration must become a JSON object, got a `{}`",
                other.type_name()
            )))),
        }
    }

    /// Writes the configuration from a mapping.
    ///
    /// # Errors
    /// When the operating system returns an error.
    pub fn config_state(&mut self, config: &State) -> Result<()> {
        self.file(CONFIG, config_json(config).as_bytes())
    }

    /// Writes the weights as `model.safetensors`, without metadata, tied tensors under each of
    /// their names. Weights above the size limit of the options become shards with an index.
    ///
    /// # Errors
    /// When the state dict has a value that is not a tensor (the error names all of them), when the
    /// format lacks a dtype, or when the operating system returns an error.
    pub fn state_dict(&mut self, state: &StateDict) -> Result<()> {
        let others: Vec<&str> = state.other_names().collect();
        if !others.is_empty() {
            return Err(Error::model(BoxError::from(format!(
                "safetensors can hold only tensors, and these values are not tensors: `{}`",
                others.join("`, `")
            ))));
        }
        let tensors = state.iter().filter_map(|(name, value)| match value {
            StateValue::Tensor(tensor) => Some((name, tensor)),
            StateValue::Object(_) => None,
        });
        self.weights(tensors, None)
    }

    /// Writes the weights, with optional metadata.
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

    /// Writes candle tensors as the weights.
    ///
    /// # Errors
    /// As for [`state_dict`](Self::state_dict), and when a tensor cannot be copied to the CPU.
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

    /// Writes another file of the model, such as `tokenizer.json`.
    ///
    /// # Errors
    /// [`ErrorKind::UnsafePath`](crate::ErrorKind::UnsafePath) when the name leads out of the
    /// folder, or when the operating system returns an error.
    pub fn file(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.file_with(name, |out| out.write_all(bytes))
    }

    /// Writes another file of the model piece by piece.
    ///
    /// # Errors
    /// As for [`file`](Self::file), and the error of `write`.
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

    /// Moves every file into the folder, and a model card if there is none. Returns whether the
    /// weights are in several files.
    ///
    /// # Errors
    /// When the operating system returns an error.
    pub(crate) fn finish(mut self, card: impl FnOnce() -> String) -> Result<bool> {
        let is_sharded = self.has(INDEX);
        if !self.has(CARD) && !self.target.join(CARD).exists() {
            self.file(CARD, card().as_bytes())?;
        }
        self.place_all()?;
        Ok(is_sharded)
    }

    /// Moves every file into the folder. The index and the configuration, which say how the files
    /// belong together, come last. Old ones that would not fit the new files are removed first: a
    /// reader in between finds that a file is missing, but never a mixture.
    ///
    /// # Errors
    /// When the operating system returns an error.
    fn place_all(self) -> Result<()> {
        // Steps that may fail come before the first change.
        for name in &self.files {
            let to = self.target.join(name);
            if to.is_dir() {
                return Err(Error::io(&to, std::io::ErrorKind::IsADirectory.into()));
            }
        }
        let (stale, _) = self.earlier();
        let (last, first): (Vec<_>, Vec<_>) = self
            .files
            .iter()
            .partition(|name| WeightsName::is_index(name) || *name == CONFIG);
        if !first.is_empty() {
            for name in &last {
                let (new, old) = (self.staged.path().join(name), self.target.join(name));
                // The same index may name other shards.
                if WeightsName::is_index(name) || !same(&new, &old) {
                    remove(&old)?;
                }
            }
        }
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

    /// The files of an earlier save beside the new files: weights under other names, which would be
    /// read in place of the new ones and are removed, and weights and configurations that remain.
    fn earlier(&self) -> (Vec<String>, Vec<String>) {
        let new: BTreeSet<&str> = self.files.iter().map(String::as_str).collect();
        let existing = self.existing();
        let existing = || existing.iter().map(String::as_str);
        let shards = |index: &str| shard_names(&self.staged.path().join(index));
        let stale = replaced(existing(), &new, shards);
        let is_kept =
            |path: &&str| is_of_model(path) && !new.contains(path) && !stale.contains(path);
        let mut kept: Vec<String> = existing().filter(is_kept).map(str::to_owned).collect();
        kept.sort();
        (stale.into_iter().map(str::to_owned).collect(), kept)
    }

    /// The existing files in the folders of the new files.
    fn existing(&self) -> Vec<String> {
        let new = self.files.iter().map(String::as_str);
        let folders: BTreeSet<&str> = new
            .map(|name| &name[..name.rfind('/').map_or(0, |slash| slash + 1)])
            .collect();
        let mut existing = Vec::new();
        for folder in folders {
            let entries = fs::read_dir(self.target.join(folder));
            let entries = entries.into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            existing.extend(names.map(|name| format!("{folder}{name}")));
        }
        existing
    }
}

/// Whether two files can be read and have the same bytes. A pipe, or anything else that is no file,
/// is not read.
fn same(one: &Path, other: &Path) -> bool {
    let open = |path: &Path| {
        let file = path.is_file().then(|| File::open(path));
        file?
            .map(|file| BufReader::with_capacity(BUFFER_BYTES, file))
            .ok()
    };
    let (Some(mut one), Some(mut other)) = (open(one), open(other)) else {
        return false;
    };
    loop {
        let (Ok(left), Ok(right)) = (one.fill_buf(), other.fill_buf()) else {
            return false;
        };
        let count = left.len().min(right.len());
        if left[..count] != right[..count] || count == 0 && left.len() != right.len() {
            return false;
        }
        if count == 0 {
            return true;
        }
        one.consume(count);
        other.consume(count);
    }
}

/// Whether a file holds weights or the configuration.
fn is_of_model(path: &str) -> bool {
    is_weights(path) || path.rsplit('/').next() == Some(CONFIG)
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(path, error)),
        _ => Ok(()),
    }
}
