//! What files a conversion writes, down to the origin of every byte.

mod shards;
pub(super) mod tensors;
pub(super) mod torch;

use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;

use super::item::{Items, Transform};
use super::make::Make;
use super::options::{ConvertOptions, TargetFormat};
use super::origin::{Origin, Origins, Stored};
use super::target::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::torch::TorchObject;
use crate::{CheckpointReader, Dtype, OtherEntry};

/// Values that an error names.
const SHOWN_VALUES: usize = 8;

/// Everything that a conversion will write.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) files: Vec<FilePlan>,
    /// The text of the index, where there are several files.
    pub(super) index: Option<(PathBuf, String)>,
    pub(super) cast: usize,
    pub(super) dropped: Vec<OtherEntry>,
    pub(super) dropped_metadata: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// One file to be written.
#[derive(Debug)]
pub(super) struct FilePlan {
    pub(super) path: PathBuf,
    pub(super) container: Container,
    /// What the container holds, in the order of the file.
    pub(super) pieces: Vec<Piece>,
    /// What a reader must find in the file.
    pub(super) expected: Vec<Expected>,
}

/// What lies around the pieces.
#[derive(Debug)]
pub(super) enum Container {
    /// The header of a safetensors file; the pieces follow it.
    SafeTensors { header: Vec<u8> },
    /// The records of a zip archive: the pickle, and a piece for each storage.
    Torch { root: String, program: Vec<u8> },
}

/// A run of bytes in a file.
#[derive(Debug)]
pub(super) struct Piece {
    /// The tensor's name, or the storage's key.
    pub(super) label: String,
    pub(super) content: Content,
}

/// Where a piece comes from.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// Bytes as they stand.
    Copy(Stored),
    /// Bytes that are made of those of an [`Origin`] that is not [`Origin::InPlace`].
    Origin(Arc<Origin>, u64),
    /// A tensor that does not lie in its storage row by row.
    Make(Arc<Make>),
}

/// A tensor as a reader must find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
}

impl Piece {
    /// Bytes of the piece.
    pub(super) fn len(&self) -> u64 {
        match &self.content {
            Content::Copy(stored) => stored.extent.len() as u64,
            Content::Origin(_, len) => *len,
            Content::Make(make) => make.byte_len() as u64,
        }
    }
}

impl Plan {
    /// The plan for one file.
    pub(super) fn of_file(file: FilePlan, cast: usize) -> Self {
        Self {
            files: vec![file],
            index: None,
            cast,
            dropped: Vec::new(),
            dropped_metadata: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// Plans a conversion.
///
/// # Errors
/// When the target cannot hold what is to be converted, or an option does not fit the source.
pub(super) fn plan(
    reader: &CheckpointReader,
    origins: &mut Origins,
    target: &Target,
    options: &ConvertOptions,
) -> Result<Plan> {
    #[cfg(feature = "nnx")]
    if let Some(plan) = super::nn_checkpoint::plan(reader, origins, target, options)? {
        return Ok(plan);
    }
    if let Some(object) = whole(reader, target, options) {
        return torch::whole(reader, &object, origins, target, options);
    }
    let items = Items::of(reader, options)?;
    let mut transform = Transform::new(options);
    match target.format {
        TargetFormat::SafeTensors => {
            let held = Held::of(reader, &items, options)?;
            let metadata = metadata(reader, options);
            let mut plan = tensors::plan(
                items.tensors,
                metadata,
                origins,
                target,
                options,
                &mut transform,
            )?;
            plan.dropped = held.dropped;
            Ok(plan)
        }
        TargetFormat::Torch => torch::flat(reader, items, origins, target, options, &mut transform),
    }
}

/// The object that is written whole: a PyTorch file that stays one, of which nothing is chosen.
fn whole(
    reader: &CheckpointReader,
    target: &Target,
    options: &ConvertOptions,
) -> Option<Arc<TorchObject>> {
    let object = reader.object()?;
    (target.format == TargetFormat::Torch && !options.reshapes() && !object.is_script())
        .then(|| Arc::clone(object))
}

/// The metadata of a safetensors file: the source's, or that of a PyTorch file by custom, and what
/// the options add.
fn metadata(reader: &CheckpointReader, options: &ConvertOptions) -> IndexMap<String, String> {
    let mut metadata = reader.metadata().clone();
    // A name that the metadata gave a tensor is listed as that tensor.
    metadata.retain(|key, _| reader.entry(key).is_none());
    if !matches!(
        reader.format(),
        crate::Format::SafeTensors | crate::Format::ShardedSafeTensors
    ) {
        metadata.insert("format".to_owned(), "pt".to_owned());
    }
    for (key, value) in &options.metadata {
        metadata.insert(key.clone(), value.clone());
    }
    metadata
}

/// What becomes of values that have no place in the target.
#[derive(Debug, Default)]
struct Held {
    dropped: Vec<OtherEntry>,
}

impl Held {
    /// # Errors
    /// When there are such values and the options do not say that they may go.
    fn of(reader: &CheckpointReader, items: &Items, options: &ConvertOptions) -> Result<Self> {
        let dropped: Vec<OtherEntry> = items
            .others
            .iter()
            .map(|(_, entry)| entry.clone())
            .collect();
        if dropped.is_empty() || options.drop_non_tensors {
            return Ok(Self { dropped });
        }
        let values = dropped
            .iter()
            .take(SHOWN_VALUES)
            .map(|entry| format!("`{}` ({})", entry.path(), entry.description()))
            .collect();
        Err(not_held(values, dropped.len(), select_hint(reader)))
    }
}

/// An error that names values which have no place in the target.
pub(super) fn not_held(values: Vec<String>, count: usize, hint: Option<String>) -> Error {
    Error::new(ErrorKind::NotHeld {
        values,
        count,
        hint,
    })
}

/// The path that holds most of the tensors, where they share one.
fn select_hint(reader: &CheckpointReader) -> Option<String> {
    let mut tops: IndexMap<&str, usize> = IndexMap::new();
    for entry in reader.tensors() {
        let (top, _) = entry.name().split_once('.')?;
        let count = tops.entry(top).or_default();
        *count = count.saturating_add(1);
    }
    let (top, _) = tops.into_iter().max_by_key(|(_, count)| *count)?;
    let is_other = |entry: &&OtherEntry| {
        entry.path() == top
            || entry
                .path()
                .strip_prefix(top)
                .is_some_and(|rest| rest.starts_with('.'))
    };
    // A selection helps only where it leaves the other values behind.
    (!reader.others().iter().any(|entry| is_other(&entry))).then(|| top.to_owned())
}
