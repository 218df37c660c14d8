//! Opening one file.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use indexmap::IndexMap;

use super::arrays::ArrayContents;
use super::entry::{OtherEntry, Place, TensorEntry};
use super::part::Part;
use super::{alias, names, view};
use crate::Format;
use crate::error::Result;
use crate::globals::GlobalRef;
use crate::open::{OpenOptions, Opened, OpenedTorch, open};
use crate::safetensors::SafeTensors;

/// What one file holds.
#[derive(Debug)]
pub(super) struct File {
    pub(super) format: Format,
    pub(super) tensors: Vec<TensorEntry>,
    pub(super) by_name: HashMap<Arc<str>, Option<usize>>,
    pub(super) others: Vec<OtherEntry>,
    pub(super) globals: Vec<GlobalRef>,
    pub(super) metadata: IndexMap<String, String>,
    pub(super) notes: Vec<String>,
    /// How many storages there are.
    pub(super) storages: usize,
    pub(super) part: Arc<Part>,
}

/// Reads a file, by what its bytes say that it is.
pub(super) fn read(bytes: &Bytes, options: &OpenOptions) -> Result<File> {
    match open(bytes, options)? {
        Opened::Torch(opened) => of_torch(*opened, options),
        Opened::SafeTensors(file) => Ok(of_safetensors(file, options)),
    }
}

fn of_torch(opened: OpenedTorch, options: &OpenOptions) -> Result<File> {
    let object = Arc::new(opened.object);
    // In a file with storages the tensors are PyTorch's own, and arrays are values beside them.
    let has_arrays = opened.format == Format::Pickle || object.storage_count() == 0;
    let contents = ArrayContents::default();
    let part = Arc::new(Part::Torch(Arc::clone(&object), contents));
    let listing = names::list(
        &object,
        &part,
        opened.constants,
        has_arrays,
        &options.limits,
    )?;
    let mut notes = opened.notes;
    match view::latin1_keys(object.graph()) {
        0 => {}
        count => notes.push(format!(
            "{count} keys are byte strings of Python 2, which are decoded as Latin-1"
        )),
    }
    Ok(File {
        format: opened.format,
        tensors: listing.tensors,
        by_name: listing.by_name,
        others: listing.others,
        globals: opened.globals,
        metadata: IndexMap::new(),
        notes,
        storages: object.storage_count().saturating_add(listing.arrays),
        part,
    })
}

fn of_safetensors(file: SafeTensors, options: &OpenOptions) -> File {
    let file = Arc::new(file);
    let part = Arc::new(Part::SafeTensors(Arc::clone(&file)));
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
            is_array: false,
            place: Place {
                part: Arc::clone(&part),
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
        part,
    }
}
