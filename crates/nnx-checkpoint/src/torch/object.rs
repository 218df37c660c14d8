//! A saved object: the graph and its storages.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::opening::Opening;
use super::slot::{Slot, Slots, StorageId};
use super::{bare, legacy, tar, zip};
use crate::error::{Error, Result};
use crate::pickle::{Graph, Node, NodeId};
use crate::source::Source;
use crate::zip::ZipArchive;
use crate::{Format, Limits, Storage};

/// What one `torch.save` wrote: an object graph, and the storages that it refers to.
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
    slots: Vec<Slot>,
    by_node: HashMap<NodeId, usize>,
    archive: Option<ZipArchive>,
    swap: bool,
}

impl TorchObject {
    /// Opens a file, mapped into memory, under the default [`Limits`].
    ///
    /// # Errors
    /// When the file cannot be read, is neither a zip container nor a legacy stream of PyTorch, or
    /// contradicts its format.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let source = Source::open(path)?;
        Self::from_bytes(source.bytes(), &Limits::default()).map_err(|error| error.in_path(path))
    }

    /// Reads the bytes of a file; what is not needed of them yet is shared, not copied.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn from_bytes(bytes: &Bytes, limits: &Limits) -> Result<Self> {
        let format = if bytes.starts_with(b"PK") {
            Format::TorchZip
        } else {
            Format::TorchLegacy
        };
        Self::read_as(bytes, &mut Opening::new(format, limits, false))
    }

    /// Reads the bytes of a file whose format is that of the opening.
    pub(crate) fn read_as(bytes: &Bytes, opening: &mut Opening) -> Result<Self> {
        match opening.format {
            Format::TorchZip => zip::read(bytes, opening),
            Format::Tar => tar::read(bytes, opening),
            Format::Pickle => bare::read(bytes, opening),
            _ => legacy::read(bytes, None, opening),
        }
    }

    /// An object whose parts a reader found.
    pub(super) fn read(
        graph: Graph,
        slots: Slots,
        archive: Option<ZipArchive>,
        swap: bool,
    ) -> Self {
        let Slots { slots, by_node } = slots;
        Self {
            graph,
            slots,
            by_node,
            archive,
            swap,
        }
    }

    /// An object made here.
    pub(super) fn built(graph: Graph, slots: Slots) -> Self {
        Self::read(graph, slots, None, false)
    }

    /// The object graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// How many storages there are.
    pub fn storage_count(&self) -> usize {
        self.slots.len()
    }

    /// The storage that a [`Node::Persistent`] refers to, if it refers to one.
    ///
    /// # Errors
    /// When its bytes do not match their checksum.
    pub fn storage(&self, id: NodeId) -> Result<Option<&Storage>> {
        self.by_node
            .get(&id)
            .map(|&index| self.storage_at(index))
            .transpose()
    }

    /// The dtype that the storage class of a [`Node::Persistent`] stands for; the outer option is
    /// none when the node refers to no storage, the inner when the storage is untyped.
    pub(super) fn slot_of(&self, id: NodeId) -> Option<&StorageId> {
        self.by_node
            .get(&id)
            .and_then(|&index| self.slots.get(index))
            .map(|slot| &slot.id)
    }

    /// The storages in the order of their first use, each with its key.
    pub(super) fn storages(&self) -> impl Iterator<Item = (&str, Result<&Storage>)> {
        self.slots.iter().map(|slot| {
            (
                slot.id.key.as_str(),
                slot.storage(self.archive.as_ref(), self.swap),
            )
        })
    }

    fn storage_at(&self, index: usize) -> Result<&Storage> {
        self.slots
            .get(index)
            .ok_or_else(|| Error::malformed("a reference to a storage that is not there"))?
            .storage(self.archive.as_ref(), self.swap)
    }
}

impl fmt::Debug for TorchObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TorchObject")
            .field("root", &self.graph.describe(self.graph.root()))
            .field("nodes", &self.graph.len())
            .field("storages", &self.slots.len())
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

    /// What the object is part of.
    pub fn whole(&self) -> &TorchObject {
        &self.object
    }

    /// Which object it is.
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
