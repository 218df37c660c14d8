//! A storage that a pickle refers to, resolved when it is first needed.

use std::collections::HashMap;
use std::sync::OnceLock;

use bytes::Bytes;
use indexmap::IndexMap;

use crate::error::{Error, Result};
use crate::pickle::{Graph, Node, NodeId};
use crate::zip::ZipArchive;
use crate::{Dtype, Storage};

/// A storage by reference: what the persistent id says, and where the bytes are.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) id: StorageId,
    source: SlotSource,
    storage: OnceLock<Storage>,
}

/// Where the bytes of a slot are.
#[derive(Debug)]
pub(super) enum SlotSource {
    /// A record of a zip container, by its name; its checksum is checked when it is first read.
    Record(String),
    /// Bytes at hand.
    Bytes(Bytes),
}

/// The five or six members of a storage's persistent id.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StorageId {
    /// The name of the storage within the file.
    pub(super) key: String,
    /// The dtype of a typed storage class; none for `UntypedStorage`.
    pub(super) dtype: Option<Dtype>,
    /// The device, as `torch.serialization.location_tag` spells it.
    pub(super) location: String,
    /// Bytes of the whole storage.
    pub(super) byte_len: usize,
}

impl StorageId {
    /// Reads a persistent id. None for one that names no storage (`module`, in old files).
    pub(super) fn parse(graph: &Graph, pid: NodeId) -> Result<Option<Self>> {
        let at = |error: Error| match graph.offset(pid) {
            Some(offset) => error.at(offset),
            None => error,
        };
        let malformed = |what: &str| {
            at(Error::malformed(format!(
                "a storage's persistent id must be ('storage', class, key, location, count), got \
                 {} with {what}",
                graph.describe(pid)
            )))
        };
        let Node::Tuple(members) = graph.node(pid) else {
            return Err(malformed("no members"));
        };
        let (kind, class, key, location, count, view) = match **members {
            [kind, class, key, location, count] => (kind, class, key, location, count, None),
            [kind, class, key, location, count, view] => {
                (kind, class, key, location, count, Some(view))
            }
            [kind, ..] if graph.text(kind) != Some("storage") => return Ok(None),
            _ => return Err(malformed("another number of members")),
        };
        match graph.text(kind) {
            Some("storage") => {}
            Some(_) => return Ok(None),
            None => return Err(malformed("no text in front")),
        }
        let (module, name) = graph
            .global(class)
            .ok_or_else(|| malformed("no class in second place"))?;
        let dtype = match (module, name) {
            ("torch.storage", "UntypedStorage") => None,
            ("torch", name) => Some(Dtype::from_storage_class(name).ok_or_else(|| {
                at(Error::unsupported(format!(
                    "`torch.{name}` is no storage class known here"
                )))
            })?),
            _ => {
                return Err(at(Error::unsupported(format!(
                    "`{module}.{name}` is no storage class known here"
                ))));
            }
        };
        if view.is_some_and(|view| *graph.node(view) != Node::None) {
            return Err(at(Error::unsupported(
                "a view of a storage, as PyTorch before 0.4 saved it, is not read",
            )));
        }
        let byte_len = graph
            .int(count)
            .and_then(|count| usize::try_from(count).ok())
            .and_then(|count| count.checked_mul(dtype.map_or(1, Dtype::size)))
            .ok_or_else(|| malformed("no valid count"))?;
        Ok(Some(Self {
            key: graph
                .text(key)
                .ok_or_else(|| malformed("no text as key"))?
                .to_owned(),
            dtype,
            location: graph
                .text(location)
                .ok_or_else(|| malformed("no text as location"))?
                .to_owned(),
            byte_len,
        }))
    }
}

impl Slot {
    /// A slot whose bytes are read when first needed.
    pub(super) fn new(id: StorageId, source: SlotSource) -> Self {
        Self {
            id,
            source,
            storage: OnceLock::new(),
        }
    }

    /// A slot of a storage at hand.
    pub(super) fn filled(key: String, dtype: Option<Dtype>, storage: Storage) -> Self {
        let id = StorageId {
            key,
            dtype,
            location: storage.location().to_owned(),
            byte_len: storage.bytes().len(),
        };
        let source = SlotSource::Bytes(storage.bytes().clone());
        Self {
            id,
            source,
            storage: OnceLock::from(storage),
        }
    }

    /// The storage: the same one at every call.
    ///
    /// # Errors
    /// When the record's checksum does not match, or its bytes cannot be put in little-endian
    /// order.
    pub(super) fn storage(&self, archive: Option<&ZipArchive>, swap: bool) -> Result<&Storage> {
        if let Some(storage) = self.storage.get() {
            return Ok(storage);
        }
        let bytes = match &self.source {
            SlotSource::Bytes(bytes) => bytes.clone(),
            SlotSource::Record(name) => {
                let missing = || Error::malformed("the archive has no such record").in_entry(name);
                let archive = archive.ok_or_else(missing)?;
                archive.data(archive.entry(name).ok_or_else(missing)?)?
            }
        };
        let bytes = if swap { self.swapped(&bytes)? } else { bytes };
        Ok(self
            .storage
            .get_or_init(|| Storage::at(bytes, self.id.location.clone())))
    }

    /// The bytes of a big-endian file in little-endian order.
    fn swapped(&self, bytes: &Bytes) -> Result<Bytes> {
        let Some(dtype) = self.id.dtype else {
            return Err(Error::unsupported(
                "an untyped storage in a big-endian file: its element size is not known",
            )
            .in_entry(&self.id.key));
        };
        let mut swapped = bytes.to_vec();
        for number in swapped.chunks_exact_mut(dtype.component_size()) {
            number.reverse();
        }
        Ok(swapped.into())
    }
}

/// The storages of an object, each once, and which reference is to which.
#[derive(Debug)]
pub(super) struct Slots {
    pub(super) slots: Vec<Slot>,
    pub(super) by_node: HashMap<NodeId, usize>,
}

impl Slots {
    /// Collects what a graph refers to; `locate` finds the bytes of each storage.
    ///
    /// # Errors
    /// When a persistent id is not one of PyTorch's, two of them contradict each other, or `locate`
    /// fails.
    pub(super) fn collect(
        graph: &Graph,
        mut locate: impl FnMut(&StorageId) -> Result<SlotSource>,
    ) -> Result<Self> {
        let mut slots: IndexMap<String, Slot> = IndexMap::new();
        let mut by_node = HashMap::new();
        for (node, pid) in graph.persistent_ids() {
            let Some(id) = StorageId::parse(graph, pid)? else {
                continue;
            };
            let index = match slots.get_full(&id.key) {
                Some((index, _, slot)) if slot.id == id => index,
                Some((_, _, slot)) => {
                    return Err(Error::malformed(format!(
                        "two persistent ids give storage `{}` different forms: {:?} and {id:?}",
                        id.key, slot.id
                    )));
                }
                None => {
                    let source = locate(&id)?;
                    slots.insert_full(id.key.clone(), Slot::new(id, source)).0
                }
            };
            by_node.insert(node, index);
        }
        Ok(Self {
            slots: slots.into_values().collect(),
            by_node,
        })
    }
}
