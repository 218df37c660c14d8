//! The contents of a checkpoint as they are shown; the JSON form is that of `nnx inspect --json`.

use std::path::Path;

use indexmap::IndexMap;
use nnx::checkpoint::{CheckpointReader, Dtype, Format, GlobalRef, NonTensorEntry, TensorEntry};
use serde::{Serialize, Serializer};

use super::nn_checkpoint::NNCheckpointPart;
use super::values::{self, TypedValue};
use crate::opened::Opened;
use crate::path::PathText;

#[derive(Debug, Serialize)]
pub(crate) struct Contents {
    #[serde(flatten)]
    pub(super) path: PathText,
    #[serde(serialize_with = "format_name")]
    pub(super) format: Format,
    pub(super) tensors: Vec<TensorLine>,
    #[serde(serialize_with = "map")]
    pub(super) metadata: IndexMap<String, String>,
    pub(super) other: Vec<Other>,
    pub(super) globals: Vec<Global>,
    pub(super) notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nn_checkpoint: Option<NNCheckpointPart>,
}

/// A tensor, without its values.
#[derive(Debug, Serialize)]
pub(super) struct TensorLine {
    pub(super) name: String,
    #[serde(serialize_with = "dtype_name")]
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    /// The number of bytes of the contiguous tensor.
    pub(super) bytes: u64,
    /// Equal for tensors that share a storage.
    pub(super) storage: Option<usize>,
    pub(super) layout: &'static str,
    /// `None` unless hashes were requested; the inner `None` for a tensor without plain bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<Option<String>>,
}

/// A value that is not a tensor.
#[derive(Debug, Serialize)]
pub(super) struct Other {
    pub(super) path: String,
    pub(super) description: String,
    /// `None` if the value is not plain, or if the limit for the values of one checkpoint is
    /// reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<TypedValue>,
}

/// A class or function that a pickle names.
#[derive(Debug, Serialize)]
pub(super) struct Global {
    pub(super) module: String,
    pub(super) name: String,
    pub(super) standing: &'static str,
    pub(super) offset: Option<u64>,
    pub(super) entry: Option<String>,
}

impl Contents {
    /// The contents of an open checkpoint: the tensors and other values whose names begin with the
    /// prefix.
    pub(super) fn new(opened: &Opened, path: &Path, prefix: &str) -> Self {
        let reader = opened.reader();
        let mut budget = Budget::default();
        let others = reader.non_tensors().iter();
        Self {
            path: PathText::new(path),
            format: reader.format(),
            tensors: opened
                .tensors()
                .filter(|(name, _)| name.starts_with(prefix))
                .map(|(name, entry)| TensorLine::new(name, entry))
                .collect(),
            metadata: reader.metadata().clone(),
            other: others
                .filter(|other| opened.shown(other.path()).starts_with(prefix))
                .map(|other| Other {
                    path: opened.shown(other.path()).to_owned(),
                    description: other.description().to_owned(),
                    value: budget.value(reader, other),
                })
                .collect(),
            globals: reader.globals().iter().map(Global::new).collect(),
            notes: reader.notes().to_vec(),
            nn_checkpoint: None,
        }
    }
}

/// The number of bytes that the values of one checkpoint may still take, because many names may
/// share one long value.
struct Budget {
    values: usize,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            values: 100_000,
            bytes: 16 << 20,
        }
    }
}

impl Budget {
    fn value(&mut self, reader: &CheckpointReader, other: &NonTensorEntry) -> Option<TypedValue> {
        self.values = self.values.checked_sub(1)?;
        let value = reader.value(other)?;
        self.bytes = self.bytes.checked_sub(values::bytes(&value))?;
        Some(TypedValue(value))
    }
}

impl TensorLine {
    fn new(name: &str, entry: &TensorEntry) -> Self {
        Self {
            name: name.to_owned(),
            dtype: entry.dtype(),
            shape: entry.shape().to_vec(),
            bytes: entry.byte_len(),
            storage: entry.storage(),
            layout: entry.layout_name(),
            sha256: None,
        }
    }

    /// The number of elements, which may exceed 64 bits for a tensor without bytes.
    pub(super) fn elements(&self) -> u128 {
        let sizes = self.shape.iter();
        sizes.fold(1, |product: u128, &size| {
            product.saturating_mul(size as u128)
        })
    }
}

impl Global {
    fn new(global: &GlobalRef) -> Self {
        Self {
            module: global.module.clone(),
            name: global.name.clone(),
            standing: global.level.name(),
            offset: global.offset,
            entry: global.entry.clone(),
        }
    }
}

fn format_name<S: Serializer>(format: &Format, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(format.name())
}

fn dtype_name<S: Serializer>(dtype: &Dtype, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(dtype.name())
}

fn map<S: Serializer>(map: &IndexMap<String, String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(map)
}
