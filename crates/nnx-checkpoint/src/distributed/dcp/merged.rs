//! The metadata of all ranks as one.

use std::collections::{HashMap, HashSet};

use super::tables::{self, NOTHING, PathPartMap, Root, Tables, at};
use super::value::Kind;
use crate::distributed::cover::{self, ChunkBox};
use crate::error::{DistributedFault, Error, Result};
use crate::{Dtype, Limits};

/// A tensor of the state.
#[derive(Debug)]
pub(super) struct DcpTensor {
    pub(super) name: u32,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<i64>,
    pub(super) chunks: Vec<StoredChunk>,
}

/// What an entry of the state is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry {
    /// The tensor of that number.
    Tensor(usize),
    /// A byte item, which is where the `_StorageInfo` of that number says.
    Value(u32),
}

/// A chunk: where its offsets and sizes are among the integers, and the number of its `_StorageInfo`.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredChunk {
    pub(super) offsets: u32,
    pub(super) sizes: u32,
    pub(super) info: u32,
}

/// What the metadata of all ranks says together.
#[derive(Debug, Default)]
pub(super) struct MergedMetadata {
    pub(super) tensors: Vec<DcpTensor>,
    pub(super) order: Vec<(Entry, u32)>,
    pub(super) paths: PathPartMap,
    pub(super) unknown: Vec<(String, String)>,
    /// Whether each rank has a metadata of its own.
    is_merged: bool,
    /// For each name the number of its entry in the order.
    known: HashMap<u32, usize>,
    /// The boxes that count once: the number of the tensor, and the bytes of offsets and sizes.
    boxes: HashSet<(usize, Box<[u8]>)>,
    /// How many chunks all ranks list.
    listed: u64,
}

impl MergedMetadata {
    /// Nothing yet, of one metadata or of one for each rank.
    pub(super) fn new(is_merged: bool) -> Self {
        Self {
            is_merged,
            ..Self::default()
        }
    }

    /// Adds what the metadata of one rank says, or of all.
    ///
    /// # Errors
    /// When it contradicts itself or the ranks before it, and when all ranks list more chunks than
    /// [`Limits::max_chunks`].
    pub(super) fn add(&mut self, tables: &Tables, root: Root, limits: &Limits) -> Result<()> {
        let lookup = Lookup::new(tables, &root)?;
        for &(name, value) in &root.names {
            let name = name.index_of(Kind::Text).ok_or_else(|| {
                Error::distributed(
                    DistributedFault::NotMetadata,
                    "a name of the state dict that is no text",
                )
            })?;
            let text = tables.texts.get(name);
            let mut add = || match value.kind() {
                Kind::Bytes => {
                    let info = lookup.find(tables, name, NOTHING);
                    let info = info.ok_or_else(|| no_entry("the value"))?;
                    self.add_value(name, info)
                }
                Kind::Tensor => {
                    let row = value.index_of(Kind::Tensor);
                    let row = row.and_then(|row| at(&tables.tensors, row));
                    let list = row.and_then(|row| root.lists.get(&row.chunks));
                    let (Some(row), Some(list)) = (row, list) else {
                        return Err(Error::distributed(
                            DistributedFault::NotMetadata,
                            "a tensor without a list of chunks",
                        ));
                    };
                    self.listed = self.listed.saturating_add(list.len() as u64);
                    if self.listed > limits.max_chunks {
                        return Err(Error::limit("max_chunks", limits.max_chunks, self.listed));
                    }
                    let chunks = list
                        .iter()
                        .map(|chunk| lookup.chunk(tables, name, row, chunk.index_of(Kind::Chunk)))
                        .collect::<Result<Vec<_>>>()?;
                    self.add_tensor(tables, name, *row, &chunks)
                }
                _ => Err(Error::distributed(
                    DistributedFault::NotMetadata,
                    "an entry that is neither a tensor nor a byte item",
                )),
            };
            add().map_err(|error| error.in_tensor(text))?;
        }
        if let Some(paths) = root.paths {
            self.paths.add(tables, paths);
        }
        for class in root.unknown {
            if !self.unknown.contains(&class) {
                self.unknown.push(class);
            }
        }
        Ok(())
    }

    fn add_value(&mut self, name: u32, info: u32) -> Result<()> {
        match self.known.get(&name).and_then(|&at| self.order.get(at)) {
            None => {
                self.known.insert(name, self.order.len());
                self.order.push((Entry::Value(info), name));
                Ok(())
            }
            // Every rank has written it.
            Some((Entry::Value(_), _)) if self.is_merged => Ok(()),
            Some(_) => Err(twice()),
        }
    }

    fn add_tensor(
        &mut self,
        tables: &Tables,
        name: u32,
        row: tables::TensorRow,
        chunks: &[StoredChunk],
    ) -> Result<()> {
        let dtype = row.dtype.ok_or_else(|| {
            Error::unsupported("a tensor of a dtype that is not known here, or of none")
        })?;
        let shape = tables.ints.get(row.size);
        let known = self.known.get(&name).and_then(|&at| self.order.get(at));
        let number = match known {
            None => {
                let number = self.tensors.len();
                self.known.insert(name, self.order.len());
                self.order.push((Entry::Tensor(number), name));
                self.tensors.push(DcpTensor {
                    name,
                    dtype,
                    shape: shape.clone(),
                    chunks: Vec::new(),
                });
                number
            }
            Some(&(Entry::Tensor(number), _)) if self.is_merged => number,
            Some(_) => return Err(twice()),
        };
        let Some(tensor) = self.tensors.get_mut(number) else {
            return Ok(());
        };
        if tensor.dtype != dtype || tensor.shape != shape {
            let fault = if tensor.dtype == dtype {
                DistributedFault::ChunkShape
            } else {
                DistributedFault::ChunkDtype
            };
            return Err(Error::distributed(
                fault,
                format!(
                    "a rank has the tensor as {dtype} of shape {shape:?}, those before it as {} of \
                     shape {:?}",
                    tensor.dtype, tensor.shape
                ),
            ));
        }
        for chunk in chunks {
            // What several ranks wrote counts once, and so does what has no elements.
            let counts_once = self.is_merged || chunk.is_empty(tables);
            if !counts_once || self.boxes.insert((number, chunk.bytes(tables))) {
                tensor.chunks.push(*chunk);
            }
        }
        Ok(())
    }

    /// Checks that the chunks of each tensor cover it.
    ///
    /// # Errors
    /// As [`cover::check`] has them.
    pub(super) fn check(&self, tables: &Tables) -> Result<()> {
        for tensor in &self.tensors {
            let boxes = tensor.chunks.iter().map(|chunk| chunk.in_box(tables));
            let boxes: Vec<ChunkBox> = boxes.collect();
            cover::check(&tensor.shape, &boxes)
                .map_err(|error| error.in_tensor(tables.texts.get(tensor.name)))?;
        }
        Ok(())
    }
}

impl StoredChunk {
    fn is_empty(&self, tables: &Tables) -> bool {
        tables.ints.get(self.sizes).contains(&0)
    }

    /// The bytes of offsets and sizes: equal boxes have equal ones.
    fn bytes(&self, tables: &Tables) -> Box<[u8]> {
        let (offsets, sizes) = (
            tables.ints.bytes(self.offsets),
            tables.ints.bytes(self.sizes),
        );
        [offsets, sizes].concat().into()
    }

    fn in_box(&self, tables: &Tables) -> ChunkBox {
        ChunkBox {
            offsets: tables.ints.get(self.offsets),
            sizes: tables.ints.get(self.sizes),
        }
    }
}

/// The `_StorageInfo` of the chunks and byte items of one metadata, by name and offset.
struct Lookup {
    /// Numbers of indices and of what they lead to, sorted by name and offset.
    sorted: Vec<(u32, u32)>,
}

impl Lookup {
    fn new(tables: &Tables, root: &Root) -> Result<Self> {
        let mut sorted = Vec::new();
        for &(index, info) in &root.storage {
            let (Some(index), Some(info)) =
                (index.index_of(Kind::Index), info.index_of(Kind::Info))
            else {
                return Err(Error::distributed(
                    DistributedFault::NotMetadata,
                    "an entry of `storage_data` that is no `MetadataIndex` with a `_StorageInfo`",
                ));
            };
            sorted.push((index, info));
        }
        sorted.sort_unstable_by(|a, b| Self::key(tables, a.0).cmp(&Self::key(tables, b.0)));
        let twice = sorted.windows(2).find(
            |pair| matches!(pair, [a, b] if Self::key(tables, a.0) == Self::key(tables, b.0)),
        );
        if let Some([(index, _), ..]) = twice {
            let name = at(&tables.indices, *index).map_or(NOTHING, |row| row.name);
            return Err(Error::distributed(
                DistributedFault::NotMetadata,
                "two entries of `storage_data` for one chunk",
            )
            .in_tensor(tables.texts.get(name)));
        }
        Ok(Self { sorted })
    }

    fn key(tables: &Tables, index: u32) -> (u32, &[u8]) {
        let row = at(&tables.indices, index);
        row.map_or((NOTHING, &[]), |row| {
            (row.name, offsets(tables, row.offsets))
        })
    }

    /// A chunk of a tensor, by its number.
    ///
    /// # Errors
    /// When it is not within its tensor, or nothing says where it is.
    fn chunk(
        &self,
        tables: &Tables,
        name: u32,
        tensor: &tables::TensorRow,
        number: Option<u32>,
    ) -> Result<StoredChunk> {
        let row = number.and_then(|number| at(&tables.chunks, number));
        let row = row.filter(|row| row.offsets != NOTHING && row.sizes != NOTHING);
        let row = row.ok_or_else(|| {
            Error::distributed(
                DistributedFault::NotMetadata,
                "a chunk without offsets or sizes",
            )
        })?;
        // Numbers of dimensions that differ are told first, by their own name.
        let chunk = ChunkBox {
            offsets: tables.ints.get(row.offsets),
            sizes: tables.ints.get(row.sizes),
        };
        cover::check_box(&tables.ints.get(tensor.size), &chunk)?;
        let info = self.find(tables, name, row.offsets);
        Ok(StoredChunk {
            offsets: row.offsets,
            sizes: row.sizes,
            info: info.ok_or_else(|| {
                no_entry(&format!("the chunk with the offsets {:?}", chunk.offsets))
            })?,
        })
    }

    /// Where a chunk is, or a byte item, which has no offsets.
    fn find(&self, tables: &Tables, name: u32, of: u32) -> Option<u32> {
        let key = (name, offsets(tables, of));
        let found = self
            .sorted
            .binary_search_by(|(index, _)| Self::key(tables, *index).cmp(&key));
        self.sorted.get(found.ok()?).map(|(_, info)| *info)
    }
}

/// The bytes of offsets; those of none differ from those of all tuples.
fn offsets(tables: &Tables, of: u32) -> &[u8] {
    if of == NOTHING {
        &[]
    } else {
        tables.ints.bytes(of)
    }
}

#[cold]
fn no_entry(what: &str) -> Error {
    Error::distributed(
        DistributedFault::NoStorageEntry,
        format!("the `.metadata` does not say where {what} is"),
    )
}

#[cold]
fn twice() -> Error {
    Error::distributed(
        DistributedFault::DuplicatePath,
        "two entries of the state dict have one name",
    )
}
