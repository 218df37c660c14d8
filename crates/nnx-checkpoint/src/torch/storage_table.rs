//! The storages that a pickle refers to.
//!
//! A file has tens of thousands of storages and many times as many nodes. Dense tables describe
//! them: the entries are in a vector, their keys in one text, and each node of the graph has a
//! number. A [`Storage`] is made when it is first asked for, and then read when its bytes are.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::pickle_location::PickleLocation;
use super::storage_id::StorageId;
use super::storage_keys::KeyIndex;
use crate::error::{Error, Result, shown};
use crate::pickle::{Graph, NodeId};
use crate::source::ByteRange;
use crate::tensor::{ByteOrder, Record, RecordContent};
use crate::zip::ZipArchive;
use crate::{Dtype, Storage};

/// A storage of the file.
#[derive(Debug)]
struct StorageEntry {
    /// The name of the storage within the file: where it is among the keys.
    key: Range<usize>,
    /// The number of the location that the storage was on.
    location: usize,
    /// Bytes of the whole storage.
    byte_len: usize,
    bytes: EntryBytes,
    order: ByteOrder,
    storage: OnceLock<Storage>,
}

/// Where the bytes of a storage are.
#[derive(Clone, Debug)]
pub(super) enum EntryBytes {
    /// In an entry of the archive, of that number.
    Record(usize),
    /// In a range, as they are.
    Range(ByteRange),
    /// Of a storage that there is already.
    Storage(Storage),
}

/// A reference of the pickle to a storage, or to a part of one.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    /// The number of the storage.
    pub(super) index: usize,
    /// The dtype of a typed storage class; none for `UntypedStorage`.
    pub(super) dtype: Option<Dtype>,
    /// The part that is meant, if not all is: a part that was a storage of its own in Python.
    part: Option<Box<StoragePart>>,
}

#[derive(Clone, Debug)]
struct StoragePart {
    range: Range<usize>,
    storage: OnceLock<Storage>,
}

impl Reference {
    /// The bytes of the storage that are meant, if not all.
    pub(super) fn part(&self) -> Option<Range<usize>> {
        self.part.as_ref().map(|part| part.range.clone())
    }
}

/// The storages of an object, each once, and which nodes refer to which.
#[derive(Debug, Default)]
pub(super) struct StorageTable {
    entries: Vec<StorageEntry>,
    /// The keys of all entries, one behind the other.
    keys: String,
    /// The devices, as `torch.serialization.location_tag` spells them.
    locations: Vec<Arc<str>>,
    references: Vec<Reference>,
    /// For each node of the graph, one more than the number of its reference; 0 for other nodes.
    by_node: Vec<u32>,
    archive: Option<ZipArchive>,
    /// Whether bytes are compared with the checksums that the archive states.
    verify: bool,
}

impl StorageTable {
    /// An empty table for a graph of that many nodes.
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            by_node: vec![0; nodes],
            verify: true,
            ..Self::default()
        }
    }

    /// Collects what a graph refers to, whose pickle is at `location`; `locate` finds the bytes of each
    /// storage.
    ///
    /// # Errors
    /// When a persistent id is not one of PyTorch's, two of them contradict each other, or `locate`
    /// fails.
    pub(super) fn collect(
        graph: &Graph,
        location: &PickleLocation,
        mut locate: impl FnMut(&StorageId<'_>) -> Result<EntryBytes>,
    ) -> Result<Self> {
        let mut table = Self::new(graph.len());
        let mut by_key = KeyIndex::with_capacity(graph.len());
        let mut views: HashMap<&str, (usize, Range<usize>)> = HashMap::new();
        // The reference that each persistent id was found to be: many nodes can share one.
        let mut known: Vec<u32> = vec![0; graph.len()];
        let unequal = |pid, what: String| {
            let error = Error::malformed(what);
            location.locate(match graph.offset(pid) {
                Some(offset) => error.at(offset),
                None => error,
            })
        };
        for (node, pid) in graph.persistent_ids() {
            let reference = known.get(pid.index()).copied().unwrap_or_default();
            if reference != 0 {
                table.refer(node, reference);
                continue;
            }
            let parsed = StorageId::parse(graph, pid).map_err(|error| location.locate(error))?;
            let Some(id) = parsed else {
                continue;
            };
            let index = match by_key.find(id.key) {
                Some(index) => {
                    table
                        .check_same(index, &id)
                        .map_err(|what| unequal(pid, what))?;
                    index
                }
                None => {
                    let bytes = locate(&id)?;
                    let index = table.add(id.key, id.location, id.byte_len, bytes);
                    by_key.insert(id.key, index);
                    index
                }
            };
            if let Some(view) = &id.view {
                let known = views
                    .entry(view.key)
                    .or_insert_with(|| (index, view.range.clone()));
                if *known != (index, view.range.clone()) {
                    return Err(unequal(
                        pid,
                        format!(
                            "two persistent ids give view `{}` different forms: bytes {} to {} of \
                             one storage and {} to {} of {} storage",
                            shown(view.key),
                            known.1.start,
                            known.1.end,
                            view.range.start,
                            view.range.end,
                            if known.0 == index { "that" } else { "another" }
                        ),
                    ));
                }
            }
            let part = id.view.map(|view| {
                Box::new(StoragePart {
                    range: view.range,
                    storage: OnceLock::new(),
                })
            });
            let reference = table.push(Reference {
                index,
                dtype: id.dtype,
                part,
            });
            table.refer(node, reference);
            if let Some(known) = known.get_mut(pid.index()) {
                *known = reference;
            }
        }
        // PyTorch keeps both under their keys in one table, where the first one wins.
        if let Some(key) = views.keys().find(|&key| by_key.find(key).is_some()) {
            return Err(Error::malformed(format!(
                "`{}` is both a storage and the view of one",
                shown(key)
            )));
        }
        Ok(table)
    }

    /// PyTorch takes references of different dtypes to the same bytes for one storage; they must
    /// agree on all else.
    fn check_same(&self, index: usize, id: &StorageId<'_>) -> Result<(), String> {
        let (len, location) = self
            .entries
            .get(index)
            .map_or((0, ""), |entry| (entry.byte_len, self.location_of(entry)));
        if len == id.byte_len && location == id.location {
            return Ok(());
        }
        Err(format!(
            "two persistent ids give storage `{}` different forms: {len} bytes on `{}` and {} bytes \
             on `{}`",
            shown(id.key),
            shown(location),
            id.byte_len,
            shown(id.location)
        ))
    }

    /// Adds a storage that there is already, and gives its number.
    pub(super) fn add_storage(&mut self, key: &str, storage: &Storage) -> usize {
        let bytes = EntryBytes::Storage(storage.clone());
        self.add(key, storage.location(), storage.byte_len(), bytes)
    }

    /// Adds a storage, and gives its number.
    fn add(&mut self, key: &str, location: &str, byte_len: usize, bytes: EntryBytes) -> usize {
        let start = self.keys.len();
        self.keys.push_str(key);
        // A file has a few devices at most, and nearly always one.
        let known = self
            .locations
            .iter()
            .rposition(|known| **known == *location);
        let location = known.unwrap_or_else(|| {
            self.locations.push(location.into());
            self.locations.len().saturating_sub(1)
        });
        self.entries.push(StorageEntry {
            key: start..self.keys.len(),
            location,
            byte_len,
            bytes,
            order: ByteOrder::Little,
            storage: OnceLock::new(),
        });
        self.entries.len().saturating_sub(1)
    }

    /// Says that a node refers to all of a storage.
    pub(super) fn refer_to_whole(&mut self, node: NodeId, index: usize, dtype: Option<Dtype>) {
        let reference = self.push(Reference {
            index,
            dtype,
            part: None,
        });
        self.refer(node, reference);
    }

    /// Adds a reference; gives one more than its number.
    fn push(&mut self, reference: Reference) -> u32 {
        self.references.push(reference);
        // A graph has fewer nodes than 32 bits count.
        u32::try_from(self.references.len()).unwrap_or_default()
    }

    fn refer(&mut self, node: NodeId, reference: u32) {
        if node.index() >= self.by_node.len() {
            self.by_node.resize(node.index().saturating_add(1), 0);
        }
        if let Some(of_node) = self.by_node.get_mut(node.index()) {
            *of_node = reference;
        }
    }

    /// Says of which archive the records are.
    pub(super) fn set_archive(&mut self, archive: ZipArchive) {
        self.archive = Some(archive);
    }

    /// The archive of which the records are.
    pub(super) fn archive(&self) -> Option<&ZipArchive> {
        self.archive.as_ref()
    }

    /// Says whether bytes are compared with the checksums that the archive states. Storages that
    /// were given out stay as they are.
    pub(super) fn set_verify(&mut self, verify: bool) {
        if self.archive.is_none() || verify == self.verify {
            return;
        }
        self.verify = verify;
        for entry in &mut self.entries {
            entry.storage = OnceLock::new();
        }
        for part in self
            .references
            .iter_mut()
            .filter_map(|one| one.part.as_mut())
        {
            part.storage = OnceLock::new();
        }
    }

    /// Says that the bytes are big-endian, in numbers as large as the references have them.
    /// `untyped` lists the references through `UntypedStorage` with the dtype of a tensor that
    /// uses them.
    pub(super) fn set_big_endian(&mut self, untyped: impl Iterator<Item = (NodeId, Dtype)>) {
        let mut sizes: Vec<HashSet<usize>> = vec![HashSet::new(); self.entries.len()];
        let typed = self
            .references
            .iter()
            .filter_map(|reference| Some((reference.index, reference.dtype?)));
        let untyped = untyped.filter_map(|(node, dtype)| {
            let reference = self.reference(node)?;
            reference
                .dtype
                .is_none()
                .then_some((reference.index, dtype))
        });
        for (index, dtype) in typed.chain(untyped) {
            if let Some(sizes) = sizes.get_mut(index) {
                sizes.insert(dtype.component_size());
            }
        }
        for (entry, sizes) in self.entries.iter_mut().zip(sizes) {
            let mut sizes = sizes.into_iter();
            entry.order = match (sizes.next(), sizes.next()) {
                // Nothing but untyped references: bytes, which have no order.
                (None, _) => ByteOrder::Little,
                (Some(size), None) => ByteOrder::Big(size),
                (Some(_), Some(_)) => {
                    let key = self.keys.get(entry.key.clone()).unwrap_or_default();
                    ByteOrder::Unclear(key.into())
                }
            };
        }
    }

    /// How many storages there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The reference to a storage that a node is, if it is one.
    pub(super) fn reference(&self, node: NodeId) -> Option<&Reference> {
        let reference = *self.by_node.get(node.index())?;
        self.references
            .get(usize::try_from(reference.checked_sub(1)?).ok()?)
    }

    /// The name of a storage within the file.
    pub(super) fn key(&self, index: usize) -> Option<&str> {
        self.keys.get(self.entries.get(index)?.key.clone())
    }

    /// The device that a storage was on.
    pub(super) fn location(&self, index: usize) -> Option<&str> {
        Some(self.location_of(self.entries.get(index)?))
    }

    fn location_of(&self, entry: &StorageEntry) -> &str {
        self.locations.get(entry.location).map_or("", |name| name)
    }

    /// Bytes of a whole storage.
    pub(super) fn byte_len(&self, index: usize) -> Option<usize> {
        Some(self.entries.get(index)?.byte_len)
    }

    /// The storage of that number: the same one at every call.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn storage(&self, index: usize) -> Result<&Storage> {
        let missing = || Error::malformed("a reference to a storage that is not there");
        let entry = self.entries.get(index).ok_or_else(missing)?;
        if let Some(storage) = entry.storage.get() {
            return Ok(storage);
        }
        let content = match &entry.bytes {
            EntryBytes::Storage(storage) => return Ok(storage),
            EntryBytes::Range(range) => RecordContent::Range(range.clone()),
            EntryBytes::Record(record) => {
                let archive = self.archive.as_ref().ok_or_else(missing)?;
                let entry = archive.entries().get(*record).ok_or_else(missing)?;
                RecordContent::Entry(archive.clone(), entry.clone())
            }
        };
        let location = self.locations.get(entry.location).ok_or_else(missing)?;
        let location = Arc::clone(location);
        let storage = match content {
            RecordContent::Range(range) if entry.order == ByteOrder::Little => {
                Storage::from_range(range, location)?
            }
            content => {
                let record = Record {
                    content,
                    order: entry.order.clone(),
                    verify: self.verify,
                };
                Storage::from_record(record, entry.byte_len, location)
            }
        };
        Ok(entry.storage.get_or_init(|| storage))
    }

    /// The storage that a reference is to, or the part of one: the same one at every call.
    ///
    /// # Errors
    /// When there is no such storage.
    pub(super) fn referred<'a>(&'a self, reference: &'a Reference) -> Result<&'a Storage> {
        let whole = self.storage(reference.index)?;
        let Some(part) = &reference.part else {
            return Ok(whole);
        };
        if let Some(storage) = part.storage.get() {
            return Ok(storage);
        }
        let storage = whole.part(part.range.clone())?;
        Ok(part.storage.get_or_init(|| storage))
    }
}
