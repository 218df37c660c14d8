//! A storage that a pickle refers to, resolved when it is first needed.

use std::collections::HashSet;
use std::collections::hash_map::{Entry, HashMap};
use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use indexmap::IndexMap;

use super::place::Place;
use crate::error::{Error, Result, shown};
use crate::pickle::{Graph, NodeId, NodeMap};
use crate::zip::{ZipArchive, ZipEntry, decoded};
use crate::{Dtype, Storage};

mod id;

pub(super) use id::{StorageId, checked_name};

/// A storage by reference: what the persistent ids say of it, and where the bytes are.
#[derive(Debug)]
pub(super) struct Slot {
    /// The name of the storage within the file.
    pub(super) key: String,
    /// The device, as `torch.serialization.location_tag` spells it.
    pub(super) location: String,
    /// Bytes of the whole storage.
    pub(super) byte_len: usize,
    source: SlotSource,
    order: ByteOrder,
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

/// How the bytes of a file become little-endian ones.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ByteOrder {
    /// They are.
    Little,
    /// Numbers of so many bytes are turned round.
    Big(usize),
    /// The file is big-endian, and its references disagree on the size of a number.
    Unclear,
}

/// One reference to a storage.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    /// Which storage.
    pub(super) slot: usize,
    /// The dtype of a typed storage class; none for `UntypedStorage`.
    pub(super) dtype: Option<Dtype>,
    view: Option<View>,
}

/// A part of a storage that was a storage of its own in Python.
#[derive(Clone, Debug)]
struct View {
    range: Range<usize>,
    storage: OnceLock<Storage>,
}

impl Reference {
    /// A reference to a whole storage.
    pub(super) fn whole(slot: usize, dtype: Option<Dtype>) -> Self {
        Self {
            slot,
            dtype,
            view: None,
        }
    }

    /// The bytes of the storage that are meant, if not all.
    pub(super) fn part(&self) -> Option<Range<usize>> {
        self.view.as_ref().map(|view| view.range.clone())
    }

    /// The storage meant, of the whole one: the same one at every call.
    pub(super) fn storage<'a>(&'a self, whole: &'a Storage) -> &'a Storage {
        match &self.view {
            None => whole,
            Some(view) => view.storage.get_or_init(|| {
                // A persistent id is read only when its view lies within the storage.
                whole.part(view.range.clone())
            }),
        }
    }
}

/// What asking for a storage does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loading {
    /// Its bytes are read, and compared with their checksum.
    Verified,
    /// Its bytes are read.
    Unverified,
    /// Nothing is read: the storage has a length and no bytes.
    Planned,
}

/// A storage's bytes as a file has them.
#[derive(Clone, Debug)]
pub(crate) struct InPlace {
    pub(crate) bytes: Bytes,
    /// The CRC-32 that the file states, and the entry that has it.
    pub(crate) checksum: Option<(u32, String)>,
}

fn record<'a>(
    archive: Option<&'a ZipArchive>,
    name: &str,
) -> Result<(&'a ZipArchive, &'a ZipEntry)> {
    let missing = || Error::malformed("the archive has no such record").in_entry(name);
    let archive = archive.ok_or_else(missing)?;
    Ok((archive, archive.entry(name).ok_or_else(missing)?))
}

impl Slot {
    /// A slot whose bytes are read when first needed.
    fn new(id: StorageId, source: SlotSource) -> Self {
        Self {
            key: id.key,
            location: id.location,
            byte_len: id.byte_len,
            source,
            order: ByteOrder::Little,
            storage: OnceLock::new(),
        }
    }

    /// A slot of a storage at hand.
    pub(super) fn filled(key: String, storage: Storage) -> Self {
        Self {
            key,
            location: storage.location().to_owned(),
            byte_len: storage.byte_len(),
            source: SlotSource::Bytes(storage.bytes().clone()),
            order: ByteOrder::Little,
            storage: OnceLock::from(storage),
        }
    }

    /// The storage: the same one at every call.
    ///
    /// # Errors
    /// When the record's checksum does not match, or its bytes cannot be put in little-endian
    /// order.
    pub(super) fn storage(
        &self,
        archive: Option<&ZipArchive>,
        loading: Loading,
    ) -> Result<&Storage> {
        if let Some(storage) = self.storage.get() {
            return Ok(storage);
        }
        let storage = match loading {
            Loading::Planned => Storage::planned(self.byte_len, self.location.clone()),
            Loading::Verified => Storage::at(self.load(archive, true)?, self.location.clone()),
            Loading::Unverified => Storage::at(self.load(archive, false)?, self.location.clone()),
        };
        Ok(self.storage.get_or_init(|| storage))
    }

    /// The bytes, little-endian, kept by no one. `verify` decides whether a record's checksum is
    /// compared.
    ///
    /// # Errors
    /// As for [`storage`](Self::storage).
    pub(super) fn load(&self, archive: Option<&ZipArchive>, verify: bool) -> Result<Bytes> {
        self.decode(archive, self.raw(archive)?, verify)
    }

    /// What the file has of the storage, as it is: no byte of it is touched.
    ///
    /// # Errors
    /// When the archive contradicts itself.
    pub(super) fn raw(&self, archive: Option<&ZipArchive>) -> Result<Bytes> {
        match &self.source {
            SlotSource::Bytes(bytes) => Ok(bytes.clone()),
            SlotSource::Record(name) => {
                let (archive, entry) = record(archive, name)?;
                archive.raw(entry).map_err(|error| error.in_entry(name))
            }
        }
    }

    /// The bytes, little-endian, of which these are the [raw](Self::raw) ones.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub(super) fn decode(
        &self,
        archive: Option<&ZipArchive>,
        raw: Bytes,
        verify: bool,
    ) -> Result<Bytes> {
        let bytes = match &self.source {
            SlotSource::Bytes(_) => raw,
            SlotSource::Record(name) => decoded(record(archive, name)?.1, raw, verify)?,
        };
        self.check_len(bytes.len())?;
        self.little_endian(bytes)
    }

    /// The bytes where they stand in the file, untouched; none when they are compressed there or
    /// in another byte order.
    ///
    /// # Errors
    /// When the archive contradicts itself, or the record has not the length of the storage.
    pub(super) fn in_place(&self, archive: Option<&ZipArchive>) -> Result<Option<InPlace>> {
        if !matches!(self.order, ByteOrder::Little | ByteOrder::Big(1)) {
            return Ok(None);
        }
        let place = match &self.source {
            SlotSource::Bytes(bytes) => InPlace {
                bytes: bytes.clone(),
                checksum: None,
            },
            SlotSource::Record(name) => {
                let (archive, entry) = record(archive, name)?;
                if !entry.is_stored() {
                    return Ok(None);
                }
                InPlace {
                    bytes: archive.data_unverified(entry)?,
                    checksum: (entry.crc32() != 0).then(|| (entry.crc32(), name.clone())),
                }
            }
        };
        self.check_len(place.bytes.len())?;
        Ok(Some(place))
    }

    fn check_len(&self, len: usize) -> Result<()> {
        if len == self.byte_len {
            return Ok(());
        }
        Err(Error::malformed(format!(
            "storage `{}` takes {} bytes by its persistent id, got {len}",
            shown(&self.key),
            self.byte_len,
        )))
    }

    fn little_endian(&self, bytes: Bytes) -> Result<Bytes> {
        match self.order {
            ByteOrder::Little | ByteOrder::Big(1) => Ok(bytes),
            ByteOrder::Big(size) => {
                let mut swapped = bytes.to_vec();
                swapped.chunks_exact_mut(size).for_each(<[u8]>::reverse);
                Ok(swapped.into())
            }
            ByteOrder::Unclear => Err(Error::unsupported(format!(
                "storage `{}` of a big-endian file is used with numbers of different sizes, so \
                 that its byte order cannot be told",
                shown(&self.key)
            ))),
        }
    }
}

/// The storages of an object, each once, and which reference is to which.
#[derive(Debug)]
pub(super) struct Slots {
    pub(super) slots: Vec<Slot>,
    pub(super) by_node: NodeMap<Reference>,
}

impl Slots {
    /// Collects what a graph refers to, whose pickle stands at `place`; `locate` finds the bytes of
    /// each storage.
    ///
    /// # Errors
    /// When a persistent id is not one of PyTorch's, two of them contradict each other, or `locate`
    /// fails.
    pub(super) fn collect(
        graph: &Graph,
        place: &Place,
        mut locate: impl FnMut(&StorageId) -> Result<SlotSource>,
    ) -> Result<Self> {
        let mut slots: IndexMap<String, Slot> = IndexMap::new();
        let mut by_node: NodeMap<Reference> = NodeMap::default();
        let mut views: HashMap<String, (usize, Range<usize>)> = HashMap::new();
        // The node that each persistent id was first met at: many nodes can share one.
        let mut first: NodeMap<NodeId> = NodeMap::default();
        let unequal = |pid, what: String| {
            let error = Error::malformed(what);
            place.locate(match graph.offset(pid) {
                Some(offset) => error.at(offset),
                None => error,
            })
        };
        for (node, pid) in graph.persistent_ids() {
            match first.entry(pid) {
                Entry::Vacant(vacant) => vacant.insert(node),
                Entry::Occupied(known) => {
                    if let Some(reference) = by_node.get(known.get()).cloned() {
                        by_node.insert(node, reference);
                    }
                    continue;
                }
            };
            let parsed = StorageId::parse(graph, pid).map_err(|error| place.locate(error))?;
            let Some(id) = parsed else {
                continue;
            };
            let (dtype, view) = (id.dtype, id.view.clone());
            let slot = match slots.get_full(&id.key) {
                // PyTorch takes references of different dtypes to the same bytes for one storage.
                Some((index, _, slot))
                    if slot.byte_len == id.byte_len && slot.location == id.location =>
                {
                    index
                }
                Some((_, _, slot)) => {
                    return Err(unequal(
                        pid,
                        format!(
                            "two persistent ids give storage `{}` different forms: {} bytes on \
                             `{}` and {} bytes on `{}`",
                            shown(&id.key),
                            slot.byte_len,
                            shown(&slot.location),
                            id.byte_len,
                            shown(&id.location)
                        ),
                    ));
                }
                None => {
                    let source = locate(&id)?;
                    slots.insert_full(id.key.clone(), Slot::new(id, source)).0
                }
            };
            if let Some(view) = &view {
                let known = views
                    .entry(view.key.clone())
                    .or_insert_with(|| (slot, view.range.clone()));
                if *known != (slot, view.range.clone()) {
                    return Err(unequal(
                        pid,
                        format!(
                            "two persistent ids give view `{}` different forms: bytes {} to {} of \
                             one storage and {} to {} of {} storage",
                            shown(&view.key),
                            known.1.start,
                            known.1.end,
                            view.range.start,
                            view.range.end,
                            if known.0 == slot { "that" } else { "another" }
                        ),
                    ));
                }
            }
            let view = view.map(|view| View {
                range: view.range,
                storage: OnceLock::new(),
            });
            by_node.insert(node, Reference { slot, dtype, view });
        }
        // PyTorch keeps both under their keys in one table, where the first one wins.
        if let Some(key) = views.keys().find(|&key| slots.contains_key(key)) {
            return Err(Error::malformed(format!(
                "`{}` is both a storage and the view of one",
                shown(key)
            )));
        }
        Ok(Self {
            slots: slots.into_values().collect(),
            by_node,
        })
    }

    /// Says that the bytes are big-endian, in numbers as large as the references have them.
    /// `untyped` lists the references through `UntypedStorage` with the dtype of a tensor that
    /// uses them.
    pub(super) fn set_big_endian(&mut self, untyped: impl Iterator<Item = (NodeId, Dtype)>) {
        let mut sizes: Vec<HashSet<usize>> = vec![HashSet::new(); self.slots.len()];
        let typed = self
            .by_node
            .values()
            .filter_map(|reference| Some((reference.slot, reference.dtype?)));
        let untyped = untyped.filter_map(|(node, dtype)| {
            let reference = self.by_node.get(&node)?;
            reference.dtype.is_none().then_some((reference.slot, dtype))
        });
        for (slot, dtype) in typed.chain(untyped) {
            if let Some(sizes) = sizes.get_mut(slot) {
                sizes.insert(dtype.component_size());
            }
        }
        for (slot, sizes) in self.slots.iter_mut().zip(sizes) {
            let mut sizes = sizes.into_iter();
            slot.order = match (sizes.next(), sizes.next()) {
                // Nothing but untyped references: bytes, which have no order.
                (None, _) => ByteOrder::Little,
                (Some(size), None) => ByteOrder::Big(size),
                (Some(_), Some(_)) => ByteOrder::Unclear,
            };
        }
    }
}
