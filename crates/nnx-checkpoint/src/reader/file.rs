//! Opening one file.

use std::sync::Arc;

use super::arrays::ArrayContents;
use super::entry::TensorEntry;
use super::open_file::{OpenFile, TorchFile};
use super::table::{TensorRow, TensorTable};
use super::{CheckpointReader, alias, children, names};
use crate::Format;
use crate::distributed::has_offsets;
use crate::error::Result;
use crate::open::{OpenOptions, Opened, OpenedTorch, open};
use crate::safetensors::SafeTensors;
use crate::source::ByteRange;

/// Reads a file, by the format that its bytes show.
pub(super) fn read(bytes: &ByteRange, options: &OpenOptions) -> Result<CheckpointReader> {
    match open(bytes, options)? {
        Opened::Torch(opened) => torch(*opened, options),
        Opened::SafeTensors(file) => Ok(safetensors(file, options)),
    }
}

/// Lists what an object holds.
pub(super) fn torch(opened: OpenedTorch, options: &OpenOptions) -> Result<CheckpointReader> {
    let object = Arc::new(opened.object);
    // In a file with storages the tensors are PyTorch's own, and arrays are values beside them.
    let has_arrays = opened.format == Format::Pickle || object.storage_count() == 0;
    let mut reader = CheckpointReader::empty(opened.format);
    let constants = opened.constants;
    let listed = names::list(&mut reader, &object, constants, has_arrays, &options.limits)?;
    let (table, infos) = listed;
    reader.globals = opened.globals;
    reader.notes = opened.notes;
    match children::latin1_keys(object.graph()) {
        0 => {}
        count => reader.notes.push(format!(
            "{count} keys are byte strings of Python 2, which are decoded as Latin-1"
        )),
    }
    reader.object = Some(Arc::clone(&object));
    let torch_file = OpenFile::Torch(TorchFile {
        object,
        infos,
        arrays: ArrayContents::default(),
    });
    reader.tensors = TensorEntry::from_table(table, torch_file);
    Ok(reader)
}

fn safetensors(file: SafeTensors, options: &OpenOptions) -> CheckpointReader {
    let mut table = TensorTable::default();
    for (index, (name, tensor)) in file.tensors().enumerate() {
        let row = TensorRow {
            storage: Some(index),
            ..TensorRow::new(tensor.dtype(), tensor.byte_len() as u64, "strided")
        };
        table.push(name, tensor.shape(), row);
    }
    let mut reader = CheckpointReader::empty(Format::SafeTensors);
    reader.storages = table.len();
    reader.metadata = file.metadata().clone();
    reader.has_pieces = has_offsets(&reader.metadata);
    reader.tensors = TensorEntry::from_table(table, OpenFile::SafeTensors(file));
    if options.restore_aliases {
        alias::restore(&mut reader.tensors, &reader.metadata, &mut reader.notes);
    }
    reader.index_tensors();
    reader
}
