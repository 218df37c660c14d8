//! PyTorch files.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;

use super::notes;
use super::shards;
use super::{Container, Expected, FilePlan, Piece, Plan, SHOWN_VALUES, dropped_values, not_held};
#[cfg(feature = "nnx")]
use crate::NNCheckpoint;
use crate::convert::options::ConvertOptions;
use crate::convert::selection::{SelectedTensor, Selection, Transform, is_loose};
use crate::convert::target::{Target, TargetFile};
use crate::error::{Error, ErrorKind, Result};
use crate::globals;
use crate::pickle::NodeId;
use crate::shards::{Sized, split};
use crate::torch::{NumberedPickle, PickledObject, TorchBuilder, TorchObject, archive_root};
use crate::{CheckpointReader, Format, Limits};

/// The newest pickle protocol that there is.
const NEWEST_PROTOCOL: u8 = 5;

/// Plans a file of the object that the source is of, whatever it is.
///
/// # Errors
/// When a tensor that is to be changed cannot be.
pub(super) fn whole(
    reader: &CheckpointReader,
    object: &Arc<TorchObject>,
    target: &Target<'_>,
    options: &ConvertOptions,
) -> Result<Plan> {
    let mut transform = Transform::new(options);
    let mut builder = TorchBuilder::new();
    let mut dtypes = HashMap::new();
    let mut changed = false;
    // A file of `torch.save` keeps its arrays, unless some of them must be tensors: beside those the
    // others would be values.
    let replaces_arrays =
        reader.format() == Format::Pickle || options.dtype.is_some() || options.compact;
    for entry in reader.tensors() {
        let dtype = transform.dtype(entry.dtype());
        let is_cast = dtype != entry.dtype();
        let is_array = entry.is_array() && replaces_arrays;
        if !is_cast && !options.compact && !is_array {
            continue;
        }
        // A number that a module keeps beside its tensors stays one, and quantised integers stay
        // with their scale.
        let is_tensor = entry.info().is_some() && entry.layout_name() == "strided";
        let Some(node) = entry.node().filter(|_| is_array || is_tensor) else {
            continue;
        };
        dtypes.insert(entry.name(), dtype);
        let tensor = entry.unread_tensor()?;
        if !is_cast && !is_loose(&tensor) && !is_array {
            continue;
        }
        let tensor = transform
            .apply(&tensor, options.compact)
            .and_then(|tensor| builder.tensor(&tensor))
            .map_err(|error| error.in_tensor(entry.name()))?;
        builder.substitute(object, node, tensor);
        changed = true;
    }
    // Only the zip container's own graph has its form already.
    let copy;
    let object = if changed || reader.format() != Format::TorchZip {
        let root = PickledObject::new(Arc::clone(object), object.graph().root());
        let root = builder.copy(&root)?;
        copy = builder.finish(root);
        &copy
    } else {
        &**object
    };
    let expected = reader.tensors().iter().map(|entry| Expected {
        name: entry.name().to_owned(),
        dtype: dtypes.get(entry.name()).copied().unwrap_or(entry.dtype()),
        shape: entry.shape().to_vec(),
    });
    #[cfg(feature = "nnx")]
    let root = NNCheckpoint::is_one(reader).then_some(NNCheckpoint::ARCHIVE_ROOT);
    #[cfg(not(feature = "nnx"))]
    let root = None;
    let target = target.single();
    let file = file(object, expected.collect(), target, root, options)?;
    let mut plan = Plan::from_file(file, transform.cast);
    if replaces_arrays {
        plan.notes.extend(notes::of_arrays(reader));
    }
    if options.dtype.is_some() {
        plan.notes.extend(notes::of_cast(reader));
    }
    Ok(plan)
}

/// Plans files of a plain dict with everything under its full name.
///
/// # Errors
/// When the source holds what such a dict cannot.
pub(super) fn flat(
    reader: &CheckpointReader,
    mut selection: Selection,
    target: &Target<'_>,
    options: &ConvertOptions,
    transform: &mut Transform<'_>,
) -> Result<Plan> {
    let dropped_metadata = metadata(reader, options)?;
    let mut notes = notes::of_tensors_alone(reader);
    if reader.object().is_some() {
        notes.push("the target is a plain dict with everything under its full name".to_owned());
    }
    let objects = reader.object().filter(|object| !object.is_script());
    let mut dropped = Vec::new();
    let mut values: Vec<(String, PickledObject)> = Vec::new();
    match objects {
        Some(object) if !options.drop_non_tensors => {
            for (name, entry) in &selection.others {
                // A tensor of a class of its own is represented by its parts.
                let node = entry.node().filter(|_| !entry.is_flattened());
                if let Some(node) = node {
                    values.push((name.clone(), PickledObject::new(Arc::clone(object), node)));
                }
            }
        }
        _ => dropped = dropped_values(reader, &selection, options)?,
    }
    for item in &mut selection.tensors {
        let dense = options.compact && is_loose(&item.tensor);
        item.tensor = transform
            .apply(&item.tensor, dense)
            .map_err(|error| error.in_tensor(&item.name))?;
    }
    let mut counted = HashSet::new();
    let sizes = selection.tensors.iter().map(|item| {
        let storage = item.tensor.storage();
        let is_first = counted.insert(storage.identity());
        Sized {
            bytes: if is_first {
                storage.byte_len() as u64
            } else {
                0
            },
            storage: storage.identity(),
        }
    });
    let groups = split(sizes, options.max_shard_size);
    let names = shards::names(target, groups.len());
    let mut files = Vec::new();
    for (group, name) in groups.iter().zip(&names) {
        let items: Vec<&SelectedTensor> = group
            .iter()
            .filter_map(|&at| selection.tensors.get(at))
            .collect();
        // Values that are no tensors are in the first file.
        let values = std::mem::take(&mut values);
        files.push(dict(&items, &values, target, name, options)?);
    }
    let held = groups.iter().map(|group| {
        let items = group.iter().filter_map(|&at| selection.tensors.get(at));
        items.map(|item| item.name.as_str()).collect()
    });
    let index = shards::index(target, &names, &files, held, &IndexMap::new())?;
    Ok(Plan {
        files,
        index,
        cast: transform.cast,
        dropped,
        dropped_metadata,
        notes,
    })
}

/// The metadata that is lost, if it may be: a PyTorch file has no place for it.
fn metadata(reader: &CheckpointReader, options: &ConvertOptions) -> Result<Vec<String>> {
    let lost: Vec<String> = reader
        .metadata()
        .iter()
        .filter(|(key, value)| {
            let says_nothing = key.as_str() == "format" && value.as_str() == "pt";
            !says_nothing && reader.entry(key).is_none()
        })
        .map(|(key, _)| key.clone())
        .collect();
    if lost.is_empty() || options.drop_non_tensors {
        return Ok(lost);
    }
    let values = lost
        .iter()
        .take(SHOWN_VALUES)
        .map(|key| format!("`{key}` (metadata)"))
        .collect();
    Err(not_held(values, lost.len(), Vec::new()))
}

fn dict(
    items: &[&SelectedTensor],
    values: &[(String, PickledObject)],
    target: &Target<'_>,
    name: &str,
    options: &ConvertOptions,
) -> Result<FilePlan> {
    let mut builder = TorchBuilder::new();
    let mut pairs: Vec<(NodeId, NodeId)> = Vec::new();
    let mut expected = Vec::new();
    for item in items {
        let key = builder.text(&item.name);
        let value = builder
            .tensor(&item.tensor)
            .map_err(|error| error.in_tensor(&item.name))?;
        pairs.push((key, value));
        expected.push(Expected {
            name: item.name.clone(),
            dtype: item.tensor.dtype(),
            shape: item.tensor.shape().to_vec(),
        });
    }
    for (name, value) in values {
        let key = builder.text(name);
        pairs.push((key, builder.copy(value)?));
    }
    let root = builder.dict(pairs);
    let object = builder.finish(root);
    file(&object, expected, target.file(name), None, options)
}

/// The file of an object. Its records are in a folder that is named
/// after the file, as `torch.save` has it, unless another `root` is given.
///
/// # Errors
/// When a storage is not known, the graph is nested too deep, or it names what runs code and the
/// options do not say that it may.
pub(in crate::convert) fn file(
    object: &TorchObject,
    expected: Vec<Expected>,
    target: TargetFile,
    root: Option<&str>,
    options: &ConvertOptions,
) -> Result<FilePlan> {
    if !options.allow_dangerous_globals
        && let Some((module, name)) = globals::first_dangerous(object.graph())
    {
        return Err(Error::new(ErrorKind::DangerousTarget { module, name }));
    }
    let NumberedPickle { program, storages } = numbered(object, &options.limits)?;
    let mut pieces = Vec::new();
    for (key, index) in storages.into_iter().enumerate() {
        pieces.push(Piece {
            label: key.to_string(),
            storage: object.storage_at(index)?.clone(),
        });
    }
    let root = root.map_or_else(|| archive_root(&target.path), str::to_owned);
    Ok(FilePlan {
        target,
        container: Container::Torch { root, program },
        pieces,
        expected,
    })
}

/// The pickle, in its protocol or in the oldest one that has all that it holds.
fn numbered(object: &TorchObject, limits: &Limits) -> Result<NumberedPickle> {
    let graph = object.graph();
    let written = NumberedPickle::write(object, graph, limits);
    if written.is_ok() || graph.protocol() >= NEWEST_PROTOCOL {
        return written;
    }
    let mut newer = graph.clone();
    for protocol in graph.protocol().saturating_add(1)..=NEWEST_PROTOCOL {
        newer.set_protocol(protocol);
        if let Ok(numbered) = NumberedPickle::write(object, &newer, limits) {
            return Ok(numbered);
        }
    }
    written
}
