//! A saved object: the graph and its storages.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::place::Place;
use super::slot::{InPlace, Loading, Reference, Slot, Slots};
use super::{rebuild, script};
use crate::error::{Error, Result};
use crate::pickle::{Graph, Node, NodeId, NodeMap};
use crate::zip::ZipArchive;
use crate::{Dtype, Storage};

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
    by_node: NodeMap<Reference>,
    place: Place,
    archive: Option<ZipArchive>,
    loading: Loading,
}

/// What the pickle says of a storage, without its bytes.
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
    pub(super) fn read(
        graph: Graph,
        mut slots: Slots,
        place: Place,
        archive: Option<ZipArchive>,
        big_endian: bool,
    ) -> Self {
        if big_endian {
            slots.set_big_endian(rebuild::untyped_uses(&graph));
        }
        let Slots { slots, by_node } = slots;
        Self {
            graph,
            slots,
            by_node,
            place,
            archive,
            loading: Loading::Verified,
        }
    }

    /// An object made here.
    pub(super) fn built(graph: Graph, slots: Slots) -> Self {
        Self::read(graph, slots, Place::default(), None, false)
    }

    /// The same object, whose storages' checksums are compared when a storage is first needed, or
    /// are not. They are by default; a checksum of 0 means that none was computed.
    #[must_use]
    pub fn with_verify(mut self, verify: bool) -> Self {
        self.loading = if verify {
            Loading::Verified
        } else {
            Loading::Unverified
        };
        self
    }

    /// The same object, whose storages are never read: their bytes are asked for by
    /// [`in_place`](Self::in_place), [`raw`](Self::raw) and [`decode`](Self::decode).
    #[must_use]
    pub(crate) fn with_planned_storages(mut self) -> Self {
        self.loading = Loading::Planned;
        self
    }

    /// The bytes of a storage where they stand in the file, untouched; none when they do not stand
    /// there as they are.
    ///
    /// # Errors
    /// When the archive contradicts itself, or there is no such storage.
    pub(crate) fn in_place(&self, index: usize) -> Result<Option<InPlace>> {
        self.slot(index)?.in_place(self.archive.as_ref())
    }

    /// What the file has of a storage, compressed or not; no byte of it is touched.
    ///
    /// # Errors
    /// When the archive contradicts itself, or there is no such storage.
    pub(crate) fn raw(&self, index: usize) -> Result<Bytes> {
        self.slot(index)?.raw(self.archive.as_ref())
    }

    /// The bytes of a storage, of which these are the [raw](Self::raw) ones.
    ///
    /// # Errors
    /// As for [`storage`](Self::storage), and when there is no such storage.
    pub(crate) fn decode(&self, index: usize, raw: Bytes, verify: bool) -> Result<Bytes> {
        self.slot(index)?.decode(self.archive.as_ref(), raw, verify)
    }

    fn slot(&self, index: usize) -> Result<&Slot> {
        self.slots
            .get(index)
            .ok_or_else(|| Error::malformed("a reference to a storage that is not there"))
    }

    /// An error at an offset of the graph ([`Graph::offset`]) with its place in the file: the entry
    /// of the pickle, or the offset from the start of the file. An error that has its place keeps
    /// it, so that it does no harm to ask twice.
    #[cold]
    pub(crate) fn locate(&self, error: Error) -> Error {
        self.place.locate(error)
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
    /// When its bytes do not match their checksum, or cannot be put in little-endian order.
    pub fn storage(&self, id: NodeId) -> Result<Option<&Storage>> {
        let Some(reference) = self.reference(id) else {
            return Ok(None);
        };
        let whole = self.storage_at(reference.slot)?;
        Ok(Some(reference.storage(whole)))
    }

    /// What the pickle says of the storage that a [`Node::Persistent`] refers to, if it refers to
    /// one; no byte of the storage is touched.
    pub fn storage_info(&self, id: NodeId) -> Option<StorageInfo> {
        let reference = self.reference(id)?;
        let slot = self.slots.get(reference.slot)?;
        Some(StorageInfo {
            index: reference.slot,
            key: slot.key.clone(),
            dtype: reference.dtype,
            location: slot.location.clone(),
            storage_len: slot.byte_len,
            range: reference.part().unwrap_or(0..slot.byte_len),
        })
    }

    /// Bytes of the storage, or of the part of one, that a [`Node::Persistent`] refers to.
    pub(crate) fn storage_len(&self, id: NodeId) -> Option<usize> {
        let reference = self.reference(id)?;
        let slot = self.slots.get(reference.slot)?;
        Some(reference.part().map_or(slot.byte_len, |part| part.len()))
    }

    /// Whether a TorchScript archive held it.
    pub(crate) fn is_script(&self) -> bool {
        self.archive.as_ref().is_some_and(script::is_script)
    }

    /// [`StorageInfo::index`] alone.
    pub(crate) fn storage_index(&self, id: NodeId) -> Option<usize> {
        self.reference(id).map(|reference| reference.slot)
    }

    /// The reference to a storage that a node is, if it is one.
    pub(super) fn reference(&self, id: NodeId) -> Option<&Reference> {
        self.by_node.get(&id)
    }

    /// The storage that a reference is to, or is to a part of.
    pub(crate) fn storage_at(&self, index: usize) -> Result<&Storage> {
        self.slot(index)?
            .storage(self.archive.as_ref(), self.loading)
    }

    /// The device of the storage that a reference is to.
    pub(super) fn location(&self, reference: &Reference) -> Option<&str> {
        self.slots
            .get(reference.slot)
            .map(|slot| slot.location.as_str())
    }

    /// The name of a storage within the file.
    pub(super) fn storage_key(&self, index: usize) -> Option<&str> {
        self.slots.get(index).map(|slot| slot.key.as_str())
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

    /// [`whole`](Self::whole), to be held.
    pub(super) fn shared(&self) -> &Arc<TorchObject> {
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
