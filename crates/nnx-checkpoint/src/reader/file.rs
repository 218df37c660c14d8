//! Opening one file.

use std::sync::Arc;

use super::arrays::ArrayContents;
use super::entry::TensorEntry;
use super::options::OpenOptions;
use super::part::{Part, TorchFile};
use super::table::{TensorRow, TensorTable};
use super::{CheckpointReader, alias, index, mistaken, names, view};
use crate::error::{Error, ErrorKind, Result};
use crate::globals;
use crate::pickle::Node;
use crate::safetensors::SafeTensors;
use crate::sniff::{Format, SNIFF_BYTES, sniff};
use crate::source::ByteRange;
use crate::torch::{Opening, TorchObject};

/// Reads a file, by what its bytes say that it is.
pub(super) fn read(bytes: &ByteRange, options: &OpenOptions) -> Result<CheckpointReader> {
    let mut reader = read_contents(bytes, options)?;
    reader.notes.extend(globals::note(&reader.globals));
    Ok(reader)
}

fn read_contents(bytes: &ByteRange, options: &OpenOptions) -> Result<CheckpointReader> {
    let prefix = bytes.read_up_to(0, SNIFF_BYTES as u64)?;
    match sniff(&prefix) {
        _ if prefix.is_empty() => Err(Error::new(ErrorKind::Empty)),
        Some(format @ (Format::TorchZip | Format::TorchLegacy | Format::Pickle | Format::Tar)) => {
            torch(bytes, format, options)
        }
        Some(Format::SafeTensors) => {
            let file = SafeTensors::parse(bytes, &options.limits)?;
            Ok(safetensors(file, options))
        }
        Some(other) => Err(mistaken::error(other, &prefix)),
        None => unknown(bytes, options),
    }
}

fn torch(bytes: &ByteRange, format: Format, options: &OpenOptions) -> Result<CheckpointReader> {
    let mut opening = Opening::new(format, &options.limits, !options.allow_dangerous_globals);
    let object = TorchObject::read_as(bytes, &mut opening)?;
    let object = Arc::new(object.with_verify(options.verify));
    globals::settle(&mut opening.globals, object.graph());
    let mut reader = CheckpointReader::empty(opening.format);
    // In a file with storages the tensors are PyTorch's own, and arrays are values beside them.
    let has_arrays = opening.format == Format::Pickle || object.storage_count() == 0;
    match view::latin1_keys(object.graph()) {
        0 => {}
        count => opening.notes.push(format!(
            "{count} keys are byte strings of Python 2, which are decoded as Latin-1"
        )),
    }
    let constants = opening.constants;
    let listed = names::list(&mut reader, &object, constants, has_arrays, &options.limits)?;
    let (table, infos) = listed;
    reader.globals = opening.globals;
    reader.notes = opening.notes;
    reader.object = Some(Arc::clone(&object));
    let part = Part::Torch(TorchFile {
        object,
        infos,
        arrays: ArrayContents::default(),
    });
    reader.tensors = TensorEntry::of_table(table, part);
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
    reader.tensors = TensorEntry::of_table(table, Part::SafeTensors(file));
    if options.restore_aliases {
        alias::restore(&mut reader.tensors, &reader.metadata, &mut reader.notes);
    }
    reader.index_tensors();
    reader
}

/// A file without a mark of its own: a safetensors file whose header begins oddly, a pickle of
/// protocol 0 or 1, or anything at all.
fn unknown(bytes: &ByteRange, options: &OpenOptions) -> Result<CheckpointReader> {
    let header = match SafeTensors::parse(bytes, &options.limits) {
        Ok(file) => return Ok(safetensors(file, options)),
        Err(error) => error,
    };
    match torch(bytes, Format::Pickle, options) {
        Ok(reader) if is_whole_pickle(&reader) => return Ok(reader),
        // It need not end well to have done its harm.
        Err(error) if matches!(error.kind(), ErrorKind::UnsafeGlobal { .. }) => {
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
fn is_whole_pickle(reader: &CheckpointReader) -> bool {
    let Some(object) = &reader.object else {
        return false;
    };
    let graph = object.graph();
    reader.notes.is_empty()
        && matches!(
            graph.node(graph.root()),
            Node::Tuple(_) | Node::List(_) | Node::Dict(_) | Node::Object(_)
        )
}
