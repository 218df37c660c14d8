//! The items of a folder: files of `torch.save`, one behind the other.

use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;

use super::item_files::ItemFiles;
use super::merged::{DcpTensor, StoredChunk};
use super::sizes;
use super::tables::{InfoRow, NOTHING, Tables, at};
use crate::distributed::cover::product;
use crate::distributed::state::root_of;
use crate::error::{DistributedFault, Error, ErrorKind, Result, shown};
use crate::globals::{self, GlobalRef};
use crate::safetensors::SafeTensors;
use crate::source::ByteRange;
use crate::tensor::{TensorChunk, TensorChunks};
use crate::torch::{LoadContext, PickledObject, TorchObject, read_item};
use crate::{Format, Limits, Tensor};

/// What the container of an inflated item may have beyond its elements.
const CONTAINER_BYTES: u64 = 1 << 16;

/// A folder whose metadata was read.
#[derive(Debug)]
pub(super) struct Dcp {
    pub(super) tables: Tables,
    pub(super) tensors: Vec<DcpTensor>,
    pub(super) files: ItemFiles,
    pub(super) limits: Limits,
    /// Whether the items' checksums are compared.
    pub(super) verify: bool,
}

/// The chunks of one tensor of a folder.
#[derive(Debug)]
pub(super) struct DcpChunks {
    dcp: Arc<Dcp>,
    tensor: usize,
}

impl DcpChunks {
    pub(super) fn new(dcp: &Arc<Dcp>, tensor: usize) -> Self {
        Self {
            dcp: Arc::clone(dcp),
            tensor,
        }
    }
}

impl TensorChunks for DcpChunks {
    fn open(&self) -> Result<Vec<TensorChunk>> {
        let dcp = &self.dcp;
        let Some(tensor) = dcp.tensors.get(self.tensor) else {
            return Ok(Vec::new());
        };
        let chunks = tensor.chunks.iter();
        chunks.map(|chunk| dcp.chunk(tensor, chunk)).collect()
    }
}

impl Dcp {
    /// Opens a chunk, and compares it with what the metadata says of it.
    fn chunk(&self, of: &DcpTensor, chunk: &StoredChunk) -> Result<TensorChunk> {
        let name = self.tables.texts.get(of.name);
        let stated = self.tables.ints.get(chunk.sizes);
        let Some(row) = at(&self.tables.infos, chunk.info) else {
            return Err(Error::distributed(
                DistributedFault::NoStorageEntry,
                "a chunk without a `_StorageInfo`",
            ));
        };
        let open = || -> Result<TensorChunk> {
            let tensor = if self.files.is_safetensors(row)? {
                self.in_safetensors(row, name)?
            } else {
                let element = u64::try_from(of.dtype.size()).unwrap_or(u64::MAX);
                let bytes = product(&stated).unwrap_or(0).saturating_mul(element);
                let most = bytes.saturating_add(CONTAINER_BYTES);
                let allowed = self.limits.max_inflated_bytes;
                if row.transforms != NOTHING && most > allowed {
                    return Err(Error::limit("max_inflated_bytes", allowed, most));
                }
                let (object, _) = self.item(row, most)?;
                object
                    .unread_tensor(object.graph().root())?
                    .ok_or_else(|| {
                        Error::distributed(
                            DistributedFault::BadContainer,
                            format!(
                                "expected an item with a tensor, found {}",
                                object.graph().describe(object.graph().root())
                            ),
                        )
                    })?
            };
            if tensor.dtype() != of.dtype {
                return Err(Error::distributed(
                    DistributedFault::ChunkDtype,
                    format!(
                        "the `.metadata` states a tensor of {}, the item at byte {} holds one of {}",
                        of.dtype,
                        row.offset,
                        tensor.dtype()
                    ),
                ));
            }
            if tensor.shape() != sizes(&stated)? {
                return Err(Error::distributed(
                    DistributedFault::ChunkShape,
                    format!(
                        "the `.metadata` states a chunk of shape {stated:?}, the item at byte {} \
                         holds one of shape {:?}",
                        row.offset,
                        tensor.shape()
                    ),
                ));
            }
            Ok(TensorChunk {
                offsets: sizes(&self.tables.ints.get(chunk.offsets))?,
                tensor,
            })
        };
        let in_file = |error: Error| match self.files.file(row) {
            Ok(file) => error.in_path(&file.path),
            Err(_) => error,
        };
        open().map_err(|error| in_file(error.in_tensor(name)))
    }

    /// Opens a byte item.
    ///
    /// # Errors
    /// When it is no file of `torch.save`, or names what runs code.
    pub(super) fn value(&self, name: &str, info: u32) -> Result<(PickledObject, Vec<GlobalRef>)> {
        let Some(row) = at(&self.tables.infos, info) else {
            return Err(Error::distributed(
                DistributedFault::NoStorageEntry,
                "a value without a `_StorageInfo`",
            ));
        };
        let limits = &self.limits;
        let opened = self.item(row, limits.max_pickle_bytes.min(limits.max_inflated_bytes));
        let (object, globals) = opened.map_err(|error| match self.files.file(row) {
            Ok(file) => error.in_tensor(name).in_path(&file.path),
            Err(_) => error,
        })?;
        Ok((root_of(object), globals))
    }

    /// Opens an item, which inflates to `most` bytes where it is compressed.
    fn item(&self, row: &InfoRow, most: u64) -> Result<(TorchObject, Vec<GlobalRef>)> {
        let offset = u64::try_from(row.offset).unwrap_or(u64::MAX);
        let len = u64::try_from(row.len).unwrap_or(u64::MAX);
        let stored = self.files.file(row)?.bytes.slice(offset, len)?;
        let bytes = match self.tables.transforms(row) {
            [] => stored,
            transforms => inflated(stored, transforms.len(), most)?,
        };
        let mut context = LoadContext::new(Format::TorchZip, &self.limits, true);
        let read = read_item(&bytes, &mut context);
        let object = read.map_err(|error| match error.kind() {
            ErrorKind::Malformed { .. } | ErrorKind::Unsupported { .. } => Error::distributed(
                DistributedFault::BadContainer,
                format!(
                    "expected a file of `torch.save` that fills the item of {len} bytes at byte \
                     {offset}: {}",
                    shown(&error.to_string())
                ),
            ),
            _ => error,
        })?;
        globals::settle(&mut context.globals, object.graph());
        Ok((object.with_verify(self.verify), context.globals))
    }

    /// The tensor of a safetensors file that begins where the item does.
    fn in_safetensors(&self, row: &InfoRow, name: &str) -> Result<Tensor> {
        let bytes = &self.files.file(row)?.bytes;
        let offset = u64::try_from(row.offset).unwrap_or(u64::MAX);
        let rest = bytes.byte_len().saturating_sub(offset);
        let bad = |what: String| Error::distributed(DistributedFault::BadContainer, what);
        let file =
            SafeTensors::parse(&bytes.slice(offset, rest)?, &self.limits).map_err(|error| {
                bad(format!(
                    "expected a file of `torch.save` or a safetensors file at byte {offset}: {}",
                    shown(&error.to_string())
                ))
            })?;
        file.get(name).cloned().ok_or_else(|| {
            bad(format!(
                "the safetensors file at byte {offset} does not hold the tensor"
            ))
        })
    }
}

/// Undoes the compression of an item, as often as it was done. An archive's directory is at its end,
/// so an item is in memory as a whole.
fn inflated(stored: ByteRange, times: usize, most: u64) -> Result<ByteRange> {
    let mut bytes = stored.bytes()?;
    for _ in 0..times {
        bytes = decompressed(&bytes, most)?;
    }
    Ok(bytes.into())
}

/// The content of Zstandard frames.
fn decompressed(mut frames: &[u8], most: u64) -> Result<Bytes> {
    let no_memory = || {
        Error::unsupported(format!(
            "there is no memory for an item that inflates to {most} bytes; convert the checkpoint on a \
             machine with more"
        ))
    };
    let bad = |error: &dyn std::fmt::Display| {
        Error::distributed(
            DistributedFault::BadContainer,
            format!(
                "the item's compressed bytes are damaged: {}",
                shown(&error.to_string())
            ),
        )
    };
    let mut out = Vec::new();
    while !frames.is_empty() {
        let decoder = ruzstd::decoding::StreamingDecoder::new(&mut frames);
        let decoder = decoder.map_err(|error| bad(&error))?;
        let room = most.saturating_sub(out.len() as u64).saturating_add(1);
        let read = decoder.take(room).read_to_end(&mut out);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::OutOfMemory => no_memory(),
            _ => bad(&error),
        })?;
        if out.len() as u64 > most {
            return Err(Error::distributed(
                DistributedFault::Limit,
                format!("a compressed item holds more than the {most} bytes that it may take"),
            ));
        }
    }
    Ok(out.into())
}
