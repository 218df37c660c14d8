//! Opening one file.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::entry::{OtherEntry, Place, TensorEntry};
use super::options::OpenOptions;
use super::{alias, index, mistaken, names};
use crate::error::{Error, ErrorKind, Result};
use crate::globals::{self, GlobalUse};
use crate::pickle::Node;
use crate::safetensors::SafeTensors;
use crate::sniff::{Format, SNIFF_BYTES, sniff};
use crate::source::ByteRange;
use crate::torch::{Opening, TorchObject};

/// What one file holds.
#[derive(Debug)]
pub(super) struct File {
    pub(super) format: Format,
    pub(super) tensors: Vec<TensorEntry>,
    pub(super) by_name: HashMap<Arc<str>, Option<usize>>,
    pub(super) others: Vec<OtherEntry>,
    pub(super) globals: Vec<GlobalUse>,
    pub(super) metadata: IndexMap<String, String>,
    pub(super) notes: Vec<String>,
    /// How many storages there are.
    pub(super) storages: usize,
    pub(super) part: Part,
}

/// Where the tensors' bytes come from.
#[derive(Debug)]
pub(super) enum Part {
    Torch(Arc<TorchObject>),
    SafeTensors(SafeTensors),
}

/// Reads a file, by what its bytes say that it is.
pub(super) fn read(bytes: &ByteRange, options: &OpenOptions) -> Result<File> {
    let prefix = bytes.read_up_to(0, SNIFF_BYTES as u64)?;
    match sniff(&prefix) {
        _ if prefix.is_empty() => Err(Error::new(ErrorKind::Empty)),
        Some(format @ (Format::TorchZip | Format::TorchLegacy | Format::Pickle | Format::Tar)) => {
            torch(bytes, format, options)
        }
        Some(Format::SafeTensors) => safetensors(bytes, options),
        Some(other) => Err(mistaken::error(other, &prefix)),
        None => unknown(bytes, options),
    }
}

fn torch(bytes: &ByteRange, format: Format, options: &OpenOptions) -> Result<File> {
    let mut opening = Opening::new(format, &options.limits, !options.allow_dangerous_globals);
    let object = TorchObject::read_as(bytes, &mut opening)?;
    let object = Arc::new(object.with_verify(options.verify));
    globals::settle(&mut opening.globals, object.graph());
    let listing = names::list(&object, opening.constants, &options.limits)?;
    Ok(File {
        format: opening.format,
        tensors: listing.tensors,
        by_name: listing.by_name,
        others: listing.others,
        globals: opening.globals,
        metadata: IndexMap::new(),
        notes: opening.notes,
        storages: object.storage_count(),
        part: Part::Torch(object),
    })
}

fn safetensors(bytes: &ByteRange, options: &OpenOptions) -> Result<File> {
    Ok(of_safetensors(
        SafeTensors::parse(bytes, &options.limits)?,
        options,
    ))
}

fn of_safetensors(file: SafeTensors, options: &OpenOptions) -> File {
    let mut tensors: Vec<TensorEntry> = file
        .tensors()
        .enumerate()
        .map(|(index, (name, tensor))| TensorEntry {
            name: name.into(),
            dtype: tensor.dtype(),
            shape: tensor.shape().to_vec(),
            bytes: tensor.byte_len() as u64,
            storage: Some(index),
            layout: "strided",
            place: Place {
                part: 0,
                node: None,
                kept: None,
            },
        })
        .collect();
    let storages = tensors.len();
    let mut notes = Vec::new();
    if options.restore_aliases {
        alias::restore(&mut tensors, file.metadata(), &mut notes);
    }
    File {
        format: Format::SafeTensors,
        storages,
        by_name: tensors
            .iter()
            .enumerate()
            .map(|(index, entry)| (entry.name.clone(), Some(index)))
            .collect(),
        tensors,
        others: Vec::new(),
        globals: Vec::new(),
        metadata: file.metadata().clone(),
        notes,
        part: Part::SafeTensors(file),
    }
}

/// A file without a mark of its own: a safetensors file whose header begins oddly, a pickle of
/// protocol 0 or 1, or anything at all.
fn unknown(bytes: &ByteRange, options: &OpenOptions) -> Result<File> {
    let header = match SafeTensors::parse(bytes, &options.limits) {
        Ok(file) => return Ok(of_safetensors(file, options)),
        Err(error) => error,
    };
    match torch(bytes, Format::Pickle, options) {
        Ok(file) if is_whole_pickle(&file) => return Ok(file),
        // It need not end well to have done its harm.
        Err(error) if matches!(error.kind(), ErrorKind::ForbiddenGlobal { .. }) => {
            return Err(error);
        }
        _ => {}
    }
    if index::is_one(bytes)? {
        return Err(mistaken::index());
    }
    let head = bytes.read_up_to(0, mistaken::HEAD_BYTES)?;
    if let Some(error) = mistaken::otherwise(&head, bytes.byte_len()) {
        return Err(error);
    }
    let length = head.first_chunk().map(|length| u64::from_le_bytes(*length));
    Err(match length {
        Some(length) if length <= options.limits.max_header_bytes => header,
        _ => mistaken::unknown(),
    })
}

/// Whether the pickle fills the file and is of something that holds others: a few letters of any
/// text may be a pickle of a number.
fn is_whole_pickle(file: &File) -> bool {
    let Part::Torch(object) = &file.part else {
        return false;
    };
    let graph = object.graph();
    file.notes.is_empty()
        && matches!(
            graph.node(graph.root()),
            Node::Tuple(_) | Node::List(_) | Node::Dict(_) | Node::Object(_)
        )
}
