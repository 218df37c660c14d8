//! The classes and functions that a `.metadata` names.

use crate::Dtype;

const METADATA: &str = "torch.distributed.checkpoint.metadata";
const FILESYSTEM: &str = "torch.distributed.checkpoint.filesystem";
const SHARDED: &str = "torch.distributed._shard.sharded_tensor.metadata";

/// A class or function, as far as the reader of a `.metadata` knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Class {
    Metadata,
    Tensor,
    Bytes,
    Chunk,
    Index,
    Info,
    Properties,
    Size,
    OrderedDict,
    Dtype(Dtype),
    Other,
}

impl Class {
    /// The class or function of that name.
    pub(super) fn new(module: &str, name: &str) -> Self {
        match (module, name) {
            (METADATA, "Metadata") => Self::Metadata,
            (METADATA, "TensorStorageMetadata") => Self::Tensor,
            (METADATA, "BytesStorageMetadata") => Self::Bytes,
            (METADATA, "ChunkStorageMetadata") => Self::Chunk,
            (METADATA, "MetadataIndex") => Self::Index,
            (METADATA | SHARDED, "TensorProperties") => Self::Properties,
            (FILESYSTEM, "_StorageInfo") => Self::Info,
            ("torch", "Size") => Self::Size,
            ("collections", "OrderedDict") => Self::OrderedDict,
            ("torch", name) => Dtype::from_name(name).map_or(Self::Other, Self::Dtype),
            _ => Self::Other,
        }
    }
}
