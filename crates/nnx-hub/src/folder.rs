//! Reading a model folder.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nnx_checkpoint::{
    CheckpointReader, ShapeMismatch, StateDict, StateDictMismatch, index_or_file,
};
use nnx_params::{State, python_text};
use serde::de::DeserializeOwned;

#[cfg(feature = "candle")]
use crate::error::BoxError;
use crate::error::{Error, ErrorKind, Result};
use crate::options::LoadOptions;
use crate::safe_path;
use crate::weights::{INDEX, WEIGHT_FILES, WEIGHTS};

/// The configuration's file.
pub(crate) const CONFIG: &str = "config.json";
/// The model card's file.
pub(crate) const CARD: &str = "README.md";

/// The largest `config.json` that is read, in bytes; typical ones have a few thousand.
const MAX_CONFIG_BYTES: u64 = 16 << 20;

/// A model folder that [`save_pretrained`](crate::ModelHubMixin::save_pretrained) of this crate or
/// of Python wrote.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder at a path. This reads nothing.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a file in the folder; the file may be absent.
    ///
    /// # Errors
    /// [`ErrorKind::UnsafePath`] when the name leads out of the folder.
    pub fn file(&self, name: &str) -> Result<PathBuf> {
        safe_path::check(name)?;
        Ok(self.path.join(name))
    }

    /// Reads a file in the folder.
    ///
    /// # Errors
    /// [`ErrorKind::MissingFile`] when the file is absent, [`ErrorKind::UnsafePath`] when the name
    /// leads out of the folder, [`ErrorKind::Io`] when the file cannot be read.
    pub fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.file(name)?;
        read_file(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::from(ErrorKind::MissingFile {
                folder: self.path.clone(),
                file: name.to_owned(),
                hint: "download it as well",
            }),
            _ => Error::io(&path, error),
        })
    }

    /// Reads the configuration as Python does: as a mapping in the order of the file.
    ///
    /// # Errors
    /// [`ErrorKind::MissingFile`] without `config.json`, [`ErrorKind::Config`] when it is not a JSON
    /// object.
    pub fn config_state(&self) -> Result<State> {
        let text = self.config_text()?;
        let value = python_text::json_loads(&text)
            .map_err(|error| self.config_error(format!("expected JSON: {error}")))?;
        match value {
            nnx_params::Value::Map(state) => Ok(state),
            other => Err(self.config_error(format!(
                "a configuration is a JSON object, got a `{}`",
                other.type_name()
            ))),
        }
    }

    /// Reads the configuration as a type of yours. A missing field gets the type's default if there
    /// is one (`#[serde(default)]`); an unknown field is ignored, unless the type says otherwise.
    ///
    /// # Errors
    /// [`ErrorKind::MissingFile`] without `config.json`, [`ErrorKind::Config`] when it cannot
    /// become the type; the text names the field.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T> {
        let text = self.config_text()?;
        serde_json::from_str(&text).map_err(|error| self.config_error(error.to_string()))
    }

    fn config_text(&self) -> Result<String> {
        let path = self.path.join(CONFIG);
        let missing = || {
            Error::from(ErrorKind::MissingFile {
                folder: self.path.clone(),
                file: CONFIG.to_owned(),
                hint: "without it the model cannot be rebuilt; its weights alone can be opened as a \
                       checkpoint",
            })
        };
        let found = std::fs::metadata(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => missing(),
            _ => Error::io(&path, error),
        })?;
        if found.len() > MAX_CONFIG_BYTES {
            return Err(self.config_error(format!(
                "expected at most {MAX_CONFIG_BYTES} bytes, got {}",
                found.len()
            )));
        }
        let bytes = read_file(&path).map_err(|error| Error::io(&path, error))?;
        String::from_utf8(bytes).map_err(|error| self.config_error(error.to_string()))
    }

    /// An error about the configuration, for a value that only the model's own code can reject.
    #[must_use]
    pub fn config_error(&self, what: impl Into<String>) -> Error {
        Error::from(ErrorKind::Config {
            path: self.path.join(CONFIG),
            what: what.into(),
        })
    }

    /// Opens the weights: `model.safetensors`, or else the files that its index names, or else
    /// those of `pytorch_model.bin`.
    ///
    /// # Errors
    /// [`ErrorKind::MissingFile`] when there are none; [`ErrorKind::Weights`] when they cannot be
    /// read, for example because the index names a file that is absent or outside of the folder.
    pub fn weights(&self) -> Result<CheckpointReader> {
        let path = WEIGHT_FILES
            .iter()
            .map(|name| self.path.join(name))
            .find(|path| path.is_file())
            .map(index_or_file)
            .ok_or_else(|| {
                Error::from(ErrorKind::MissingFile {
                    folder: self.path.clone(),
                    file: WEIGHTS.to_owned(),
                    hint: "nor an index of it, nor `pytorch_model.bin`",
                })
            })?;
        Ok(CheckpointReader::open(path)?)
    }

    /// A value that changes when the weights or the configuration are written: sizes, times and
    /// file numbers.
    pub(crate) fn stamp(&self) -> Vec<Option<(u64, Option<SystemTime>, u64)>> {
        let names = WEIGHT_FILES.iter().chain([&CONFIG]);
        names
            .map(|name| {
                let about = std::fs::metadata(self.path.join(name)).ok()?;
                Some((about.len(), about.modified().ok(), number(&about)))
            })
            .collect()
    }

    /// A note for a folder with both a single weights file and shards, one of which may belong to
    /// an earlier save.
    pub(crate) fn doubt(&self) -> Option<String> {
        let [whole, index] = [WEIGHTS, INDEX].map(|name| self.path.join(name));
        let is_doubtful =
            whole.is_file() && index.is_file() && index_or_file(whole.clone()) == whole;
        is_doubtful.then(|| {
            format!(
                "`{}` has `{WEIGHTS}`, which is read, and the shards of `{INDEX}`, which are not; \
                 one of them may be of an earlier save",
                self.path.display()
            )
        })
    }

    /// Reads the weights as a state dict, in the order of their names, as Python does.
    ///
    /// # Errors
    /// As for [`weights`](Self::weights).
    pub fn state_dict(&self) -> Result<StateDict> {
        let reader = self.weights()?;
        let mut names: Vec<&str> = reader.tensors().iter().map(|entry| entry.name()).collect();
        names.sort_unstable();
        let mut state = StateDict::new();
        for name in names {
            state.insert(name, reader.tensor(name)?);
        }
        Ok(state)
    }

    /// Reads the weights with exactly these names and shapes.
    ///
    /// If loading is not strict, weights that the model lacks are ignored, weights that the folder
    /// lacks are absent from the result, and a note lists both.
    ///
    /// # Errors
    /// As for [`weights`](Self::weights), and [`ErrorKind::Mismatch`] with all differences.
    pub fn state_dict_of(
        &self,
        expected: &[(&str, &[usize])],
        options: &LoadOptions,
    ) -> Result<StateDict> {
        let found = self.state_dict()?;
        let mut mismatch = StateDictMismatch::default();
        let mut state = StateDict::new();
        for (name, shape) in expected {
            match found.tensor(name) {
                None => mismatch.missing.push((*name).to_owned()),
                Some(tensor) if tensor.shape() != *shape => {
                    mismatch.shape_mismatches.push(ShapeMismatch::new(
                        *name,
                        shape,
                        tensor.shape(),
                    ));
                }
                Some(tensor) => state.insert(*name, tensor.clone()),
            }
        }
        let known = |name: &str| expected.iter().any(|(known, _)| *known == name);
        let others = found.iter().filter(|(name, _)| !known(name));
        mismatch.unexpected = others.map(|(name, _)| name.to_owned()).collect();
        let strict = options.strict != Some(false);
        if !mismatch.shape_mismatches.is_empty() || strict && !mismatch.is_empty() {
            return Err(Error::from(ErrorKind::Mismatch(mismatch)));
        }
        if !mismatch.is_empty() {
            options.note(&format!(
                "loaded in part: the weights do not fit the model: {mismatch}"
            ));
        }
        Ok(state)
    }

    /// [`state_dict_of`](Self::state_dict_of) as candle tensors.
    ///
    /// # Errors
    /// As for [`state_dict_of`](Self::state_dict_of) and [`tensors`](Self::tensors).
    #[cfg(feature = "candle")]
    pub fn tensors_of(
        &self,
        expected: &[(&str, &[usize])],
        options: &LoadOptions,
        device: &candle_core::Device,
    ) -> Result<Tensors> {
        candle_tensors(&self.state_dict_of(expected, options)?, device)
    }

    /// Reads the weights as candle tensors, for a `VarBuilder` or a `VarMap`.
    ///
    /// # Errors
    /// As for [`weights`](Self::weights), and when candle lacks a dtype or the device fails.
    #[cfg(feature = "candle")]
    pub fn tensors(&self, device: &candle_core::Device) -> Result<Tensors> {
        candle_tensors(&self.state_dict()?, device)
    }
}

/// Reads a regular file; a read of something else, such as a pipe, might never end.
pub(crate) fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    if std::fs::metadata(path)?.is_file() {
        std::fs::read(path)
    } else {
        Err(std::io::Error::other(
            "expected a regular file, found something else",
        ))
    }
}

/// The number of a file in its file system.
#[cfg(unix)]
fn number(about: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(about)
}

#[cfg(not(unix))]
fn number(_: &std::fs::Metadata) -> u64 {
    0
}

/// Candle tensors by name.
#[cfg(feature = "candle")]
type Tensors = std::collections::HashMap<String, candle_core::Tensor>;

#[cfg(feature = "candle")]
fn candle_tensors(state: &StateDict, device: &candle_core::Device) -> Result<Tensors> {
    let refused = |error: candle_core::Error| Error::model(BoxError::from(error));
    state
        .tensors()
        .map(|(name, tensor)| {
            let there = candle_core::Tensor::try_from(tensor)?;
            Ok((name.to_owned(), there.to_device(device).map_err(refused)?))
        })
        .collect()
}
