//! A saved object: the graph and its storages.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::pickle_location::PickleLocation;
use super::storage_table::{Reference, StorageTable};
use super::torchscript;
use crate::error::{Error, Result};
use crate::pickle::{Graph, Node, NodeId};
use crate::{Dtype, Storage};

/// The result of one `torch.save`: an object graph, and the storages that it refers to.
///
/// Opening reads the pickle alone; a storage's bytes are touched when a tensor of it is asked for.
///
/// ```no_run
/// # fn main() -> nnx_checkpoint::Result<()> {
/// use nnx_checkpoint::torch::TorchObject;
///
/// let object = TorchObject::open("model.pt")?;
/// println!("the file holds {}", object.graph().describe(object.graph().root()));
/// # Ok(())
/// # }
/// ```
pub struct TorchObject {
    graph: Graph,
    storages: StorageTable,
    location: PickleLocation,
}

/// The pickle's description of a storage, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StorageInfo {
    /// Equal for the references to one storage, from 0 in the order of first use.
    pub index: usize,
    /// The name of the storage within the file.
    pub key: String,
    /// The dtype of a typed storage class; none for an untyped one.
    pub dtype: Option<Dtype>,
    /// The device that the storage was on: `cpu`, `cuda:0`, `mps`.
    pub location: String,
    /// Bytes of the whole storage.
    pub storage_len: usize,
    /// The bytes of the whole storage that are meant: all of them, unless the file is one of
    /// PyTorch before 0.4 and the reference one to a part.
    pub range: Range<usize>,
}

impl TorchObject {
    /// An object whose parts a reader found.
    pub(super) fn new(graph: Graph, storages: StorageTable, location: PickleLocation) -> Self {
        Self {
            graph,
            storages,
            location,
        }
    }

    /// An object made here.
    pub(super) fn built(graph: Graph, storages: StorageTable) -> Self {
        Self::new(graph, storages, PickleLocation::default())
    }

    /// The same object, whose storages' checksums are compared when a storage is first needed, or
    /// are not. They are by default; a checksum of 0 means that none was computed.
    #[must_use]
    pub fn with_verify(mut self, verify: bool) -> Self {
        self.storages.set_verify(verify);
        self
    }

    /// An error at an offset of the graph ([`Graph::offset`]) with its place in the file: the entry
    /// of the pickle, or the offset from the start of the file. An error that has its place keeps
    /// it, so that it does no harm to ask twice.
    #[cold]
    pub(crate) fn locate(&self, error: Error) -> Error {
        self.location.locate(error)
    }

    /// The object graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// How many storages there are.
    pub fn storage_count(&self) -> usize {
        self.storages.len()
    }

    /// The storage that a [`Node::Persistent`] refers to, if it refers to one. Its bytes are read
    /// when they are asked for.
    ///
    /// # Errors
    /// When the reference is to a part that is not within its storage.
    pub fn storage(&self, id: NodeId) -> Result<Option<&Storage>> {
        self.reference(id)
            .map(|reference| self.storages.referred(reference))
            .transpose()
    }

    /// The pickle's description of the storage that a [`Node::Persistent`] refers to, if it refers to
    /// one; no byte of the storage is touched.
    pub fn storage_info(&self, id: NodeId) -> Option<StorageInfo> {
        let reference = self.reference(id)?;
        let index = reference.index;
        let storage_len = self.storages.byte_len(index)?;
        Some(StorageInfo {
            index,
            key: self.storages.key(index)?.to_owned(),
            dtype: reference.dtype,
            location: self.storages.location(index)?.to_owned(),
            storage_len,
            range: reference.part().unwrap_or(0..storage_len),
        })
    }

    /// Bytes of the storage, or of the part of one, that a [`Node::Persistent`] refers to.
    pub(crate) fn storage_len(&self, id: NodeId) -> Option<usize> {
        let reference = self.reference(id)?;
        let part = reference.part().map(|part| part.len());
        part.or_else(|| self.storages.byte_len(reference.index))
    }

    /// Whether a TorchScript archive held it.
    pub(crate) fn is_script(&self) -> bool {
        self.storages.archive().is_some_and(torchscript::is_script)
    }

    /// [`StorageInfo::index`] alone.
    pub(crate) fn storage_index(&self, id: NodeId) -> Option<usize> {
        self.reference(id).map(|reference| reference.index)
    }

    /// The reference to a storage that a node is, if it is one.
    pub(super) fn reference(&self, id: NodeId) -> Option<&Reference> {
        self.storages.reference(id)
    }

    /// The storages that references are to.
    pub(super) fn storage_table(&self) -> &StorageTable {
        &self.storages
    }

    /// The name of a storage within the file.
    pub(super) fn storage_key(&self, index: usize) -> Option<&str> {
        self.storages.key(index)
    }

    /// The storage of that number.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn storage_at(&self, index: usize) -> Result<&Storage> {
        self.storages.storage(index)
    }
}

impl fmt::Debug for TorchObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TorchObject")
            .field("root", &self.graph.describe(self.graph.root()))
            .field("nodes", &self.graph.len())
            .field("storages", &self.storages.len())
            .finish()
    }
}

/// One object of a [`TorchObject`], kept as it is because this crate has no type for it.
#[derive(Clone)]
pub struct PickledObject {
    object: Arc<TorchObject>,
    id: NodeId,
}

impl PickledObject {
    /// The object of that id.
    pub fn new(object: Arc<TorchObject>, id: NodeId) -> Self {
        Self { object, id }
    }

    /// The file that the object is part of.
    pub fn whole(&self) -> &TorchObject {
        &self.object
    }

    /// [`whole`](Self::whole), to be held.
    pub fn shared(&self) -> &Arc<TorchObject> {
        &self.object
    }

    /// The id of the object in the graph.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// The object's node.
    pub fn node(&self) -> &Node {
        self.object.graph().node(self.id)
    }
}

impl fmt::Debug for PickledObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PickledObject")
            .field(&self.object.graph().describe(self.id))
            .finish()
    }
}
