//! The plan of a conversion: its files, down to the storage of every byte.

#[cfg(feature = "nnx")]
mod nn_checkpoint;
mod notes;
mod shards;
mod tensors;
mod torch;

use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use super::options::{ConvertOptions, SharedTensors};
use super::selection::{Selection, Transform};
use super::target::{Target, TargetFile};
#[cfg(feature = "nnx")]
use crate::NNCheckpoint;
use crate::error::{Error, ErrorKind, Result};
use crate::torch::{TorchObject, write_records};
use crate::zip::ZipWriter;
use crate::{CheckpointReader, Dtype, Format, NonTensorEntry, Storage, TargetFormat};

/// Values that an error names.
const SHOWN_VALUES: usize = 8;
/// Paths that it names.
const SHOWN_PATHS: usize = 4;

/// Everything that a conversion will write.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) files: Vec<FilePlan>,
    /// The text of the index, where there are several files.
    pub(super) index: Option<(TargetFile, String)>,
    pub(super) cast: usize,
    pub(super) dropped: Vec<NonTensorEntry>,
    pub(super) dropped_metadata: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// One file to be written.
#[derive(Debug)]
pub(super) struct FilePlan {
    pub(super) target: TargetFile,
    pub(super) container: Container,
    /// The contents of the container, in the order of the file.
    pub(super) pieces: Vec<Piece>,
    /// The tensors that a reader must find in the file.
    pub(super) expected: Vec<Expected>,
}

/// The bytes around the pieces.
#[derive(Debug)]
pub(super) enum Container {
    /// The header of a safetensors file; the pieces follow it.
    SafeTensors { header: Vec<u8> },
    /// The records of a zip archive: the pickle, and a piece for each storage.
    Torch { root: String, program: Vec<u8> },
}

/// A run of bytes in a file: those of a storage.
#[derive(Debug)]
pub(super) struct Piece {
    /// The tensor's name, or the storage's key.
    pub(super) label: String,
    pub(super) storage: Storage,
}

/// A tensor as a reader must find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) name: String,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
}

impl FilePlan {
    /// Bytes of the file.
    ///
    /// # Errors
    /// When there are more records than an archive can have.
    pub(super) fn file_len(&self) -> Result<u64> {
        let pieces = self.pieces.iter().map(Piece::len);
        let content = pieces.fold(0u64, u64::saturating_add);
        let around = match &self.container {
            Container::SafeTensors { header } => header.len() as u64,
            Container::Torch { root, program } => {
                let mut zip = ZipWriter::new(Counter(0), root);
                let storages = self.pieces.iter();
                let storages = storages.map(|piece| (piece.len(), ()));
                write_records(&mut zip, program, storages, |_, ()| Ok(0))?;
                zip.finish()?.0
            }
        };
        Ok(content.saturating_add(around))
    }
}

/// Counts what is written.
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Piece {
    /// Bytes of the piece.
    pub(super) fn len(&self) -> u64 {
        self.storage.byte_len() as u64
    }
}

impl Plan {
    /// The plan for one file.
    pub(super) fn from_file(file: FilePlan, cast: usize) -> Self {
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

impl Plan {
    /// Refuses a plan of no tensors, or of empty ones alone.
    ///
    /// # Errors
    /// When no tensor has an element.
    pub(super) fn check_elements(&self, reader: &CheckpointReader) -> Result<()> {
        let mut tensors = self.files.iter().flat_map(|file| &file.expected);
        if tensors.any(|tensor| !tensor.shape.contains(&0)) {
            return Ok(());
        }
        let others = reader.non_tensors();
        Err(Error::new(ErrorKind::NoTensors {
            empty: self.files.iter().map(|file| file.expected.len()).sum(),
            values: shown_values(others),
            count: others.len(),
        }))
    }
}

/// The first of some values, each with its description.
fn shown_values(values: &[NonTensorEntry]) -> Vec<String> {
    let shown = values.iter().take(SHOWN_VALUES);
    shown
        .map(|entry| match entry.path() {
            "" => entry.description().to_owned(),
            path => format!("`{path}` ({})", entry.description()),
        })
        .collect()
}

/// Plans a conversion.
///
/// # Errors
/// When the target cannot hold what is to be converted, or an option does not fit the source.
pub(super) fn plan(
    reader: &CheckpointReader,
    target: &Target<'_>,
    options: &ConvertOptions,
) -> Result<Plan> {
    check_options(reader, target, options)?;
    let is_split = is_split(reader, options);
    #[cfg(feature = "nnx")]
    if !is_split && let Some(plan) = nn_checkpoint::plan(reader, target, options)? {
        return Ok(plan);
    }
    if !is_split && let Some(object) = whole(reader, target, options) {
        return torch::whole(reader, &object, target, options);
    }
    let selection = Selection::new(reader, options)?;
    let mut transform = Transform::new(options);
    match target.format {
        TargetFormat::SafeTensors => {
            let dropped = dropped_values(reader, &selection, options)?;
            let (metadata, dropped_metadata) = metadata(reader, options)?;
            let notes = notes::of_tensors_alone(reader);
            let mut plan =
                tensors::plan(selection.tensors, metadata, target, options, &mut transform)?;
            plan.dropped = dropped;
            plan.dropped_metadata = dropped_metadata;
            plan.notes.extend(notes);
            Ok(plan)
        }
        TargetFormat::Torch => torch::flat(reader, selection, target, options, &mut transform),
    }
}

/// The object that is written whole: a PyTorch file that stays one, of which nothing is chosen.
fn whole(
    reader: &CheckpointReader,
    target: &Target<'_>,
    options: &ConvertOptions,
) -> Option<Arc<TorchObject>> {
    let object = reader.object()?;
    let is_whole = !options.renames() && !options.drop_non_tensors;
    (target.format == TargetFormat::Torch && is_whole && !object.is_script())
        .then(|| Arc::clone(object))
}

/// Whether the tensors take more than one file may have.
fn is_split(reader: &CheckpointReader, options: &ConvertOptions) -> bool {
    let tensors = reader.tensors().iter();
    let bytes = tensors.fold(0u64, |sum, entry| sum.saturating_add(entry.byte_len()));
    options.max_shard_size.is_some_and(|most| bytes > most)
}

/// Refuses options that would do nothing.
fn check_options(
    reader: &CheckpointReader,
    target: &Target<'_>,
    options: &ConvertOptions,
) -> Result<()> {
    if options.nested {
        let refused = if target.format != TargetFormat::Torch {
            "a safetensors file has names and no nested state; write a PyTorch file"
        } else if !reader.format().is_distributed() {
            "the nested state is asked of a checkpoint of several processes, and the source is none: \
             a PyTorch file keeps its structure as it is"
        } else if options.renames() || options.drop_non_tensors || is_split(reader, options) {
            "the nested state is written whole: with other names, without some values, or in several \
             files it is a dict of names"
        } else {
            ""
        };
        if !refused.is_empty() {
            return Err(Error::unsupported(refused));
        }
    }
    if target.format == TargetFormat::Torch {
        if !options.metadata.is_empty() {
            return Err(Error::unsupported(
                "a PyTorch file has no metadata to add a text to",
            ));
        }
        if options.tied == SharedTensors::Aliased {
            return Err(Error::unsupported(
                "a PyTorch file stores tied tensors once as it is, without aliases",
            ));
        }
    }
    #[cfg(feature = "nnx")]
    if NNCheckpoint::is_one(reader)
        && let Some((key, _)) = options
            .metadata
            .iter()
            .find(|(key, _)| NNCheckpoint::is_own_key(key))
    {
        return Err(Error::unsupported(format!(
            "the metadata key `{key}` is one of NNx's own, and the source is an NNx checkpoint"
        )));
    }
    #[cfg(not(feature = "nnx"))]
    let _ = reader;
    Ok(())
}

/// The metadata of a safetensors file: the source's, and the entries that the options add. The
/// second are keys that were left out.
///
/// # Errors
/// When tensors get other names that an NNx configuration in the metadata does not know, and the
/// options do not say that it may go.
fn metadata(
    reader: &CheckpointReader,
    options: &ConvertOptions,
) -> Result<(IndexMap<String, String>, Vec<String>)> {
    let mut metadata = reader.metadata().clone();
    // A name that the metadata gave a tensor is listed as that tensor.
    metadata.retain(|key, _| reader.entry(key).is_none());
    let is_safetensors = matches!(
        reader.format(),
        Format::SafeTensors | Format::ShardedSafeTensors
    );
    if !is_safetensors {
        say_format(&mut metadata);
    }
    let dropped = outdated_keys(reader, options);
    if !dropped.is_empty() && !options.drop_non_tensors {
        let values = dropped
            .iter()
            .map(|key| format!("`{key}` (metadata of an NNx checkpoint, which knows its names)"))
            .collect();
        return Err(not_held(values, dropped.len(), Vec::new()));
    }
    metadata.retain(|key, _| !dropped.contains(key));
    for (key, value) in &options.metadata {
        metadata.insert(key.clone(), value.clone());
    }
    if !metadata.is_empty() {
        say_format(&mut metadata);
    }
    Ok((metadata, dropped))
}

/// Says whose tensors these are, unless the metadata says it already: the loaders of accelerate and
/// transformers 4 refuse metadata that do not.
fn say_format(metadata: &mut IndexMap<String, String>) {
    metadata
        .entry("format".to_owned())
        .or_insert_with(|| "pt".to_owned());
}

/// The metadata keys of a safetensors file whose texts speak of names that the tensors will not have
/// any more.
#[cfg(feature = "nnx")]
fn outdated_keys(reader: &CheckpointReader, options: &ConvertOptions) -> Vec<String> {
    let is_outdated =
        options.renames() && reader.object().is_none() && NNCheckpoint::is_one(reader);
    let keys = reader.metadata().keys();
    keys.filter(|key| is_outdated && NNCheckpoint::is_own_key(key))
        .cloned()
        .collect()
}

/// Without NNx's checkpoints no text is known to speak of names.
#[cfg(not(feature = "nnx"))]
fn outdated_keys(_reader: &CheckpointReader, _options: &ConvertOptions) -> Vec<String> {
    Vec::new()
}

/// The values that have no place in the target, which are left out.
///
/// # Errors
/// When there are such values and the options do not say that they may go.
fn dropped_values(
    reader: &CheckpointReader,
    selection: &Selection,
    options: &ConvertOptions,
) -> Result<Vec<NonTensorEntry>> {
    let entries = selection.others.iter();
    let dropped: Vec<NonTensorEntry> = entries.map(|(_, entry)| entry.clone()).collect();
    if dropped.is_empty() || options.drop_non_tensors {
        return Ok(dropped);
    }
    let values = shown_values(&dropped);
    Err(not_held(values, dropped.len(), select_hint(reader)))
}

/// An error that names values which have no place in the target, and the paths below which there are
/// tensors alone.
pub(super) fn not_held(values: Vec<String>, count: usize, paths: Vec<String>) -> Error {
    Error::new(ErrorKind::NotHeld {
        values,
        count,
        paths,
    })
}

/// The first parts of names below which there are tensors and nothing else.
fn select_hint(reader: &CheckpointReader) -> Vec<String> {
    let top = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
    let others: HashSet<String> = reader
        .non_tensors()
        .iter()
        .map(|entry| top(entry.path()))
        .collect();
    let mut paths: IndexSet<String> = IndexSet::new();
    for entry in reader.tensors() {
        // A tensor at the top is no path to others.
        if entry.name().contains('.') {
            paths.insert(top(entry.name()));
        }
    }
    paths.retain(|path| !others.contains(path));
    paths.into_iter().take(SHOWN_PATHS).collect()
}
