//! Folders of `torch.distributed.checkpoint`: a `.metadata` that says where everything is, and files
//! of items, each a complete file of `torch.save`.

mod items;
mod metadata;
mod places;
mod tables;
mod value;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use self::items::{Dcp, DcpChunks};
use self::places::PlaceTable;
use self::tables::{NOTHING, PathPartMap, Root, Tables, at};
use self::value::Kind;
use super::cover::{self, ChunkBox};
use super::files::{self, RankFiles};
use super::state::State;
use crate::error::{DistributedFault, Error, Result, shown};
use crate::open::{OpenOptions, OpenedTorch};
use crate::{Dtype, Format};

/// The name of the metadata of all ranks.
pub(super) const METADATA_NAME: &str = ".metadata";

/// The rank of a file `__R.metadata`.
pub(super) fn rank_of_metadata(name: &str) -> Option<u64> {
    let rank = name.strip_prefix("__")?.strip_suffix(".metadata")?;
    let is_number = !rank.is_empty() && rank.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| rank.parse().ok()).flatten()
}

/// A tensor of the state.
#[derive(Debug)]
struct DcpTensor {
    name: u32,
    dtype: Dtype,
    shape: Vec<i64>,
    /// Where its chunks are among those of all tensors.
    chunks: std::ops::Range<usize>,
}

/// Opens a folder. The metadata is checked; no item of a tensor is opened.
///
/// # Errors
/// When the metadata is not there, contradicts itself, or leads out of the folder; when a file is
/// not there or too short; when a byte item cannot be read or names what runs code.
pub(super) fn open(folder: &Path, options: &OpenOptions) -> Result<OpenedTorch> {
    let files = RankFiles::new(folder);
    let (names, _) = files::names(folder)?;
    let metadata = metadata_files(&names)?;
    let is_merged = metadata.first().is_none_or(|name| *name != METADATA_NAME);
    let mut tables = Tables::default();
    let mut state = State::default();
    let mut content = Content::default();
    for name in &metadata {
        let path = folder.join(name);
        let mut read = || {
            let bytes = files.open(&path)?;
            let root = metadata::read(&bytes, &mut tables, &options.limits)?;
            content.add(&tables, root, is_merged)
        };
        read().map_err(|error| error.in_path(&path))?;
    }
    let metadata_path = folder.join(metadata.first().map_or(METADATA_NAME, |name| name));
    content
        .check(&tables)
        .map_err(|error| error.in_path(&metadata_path))?;
    let places = PlaceTable::new(&tables, &files, &content, &options.limits)
        .map_err(|error| error.in_path(&metadata_path))?;
    places.check_items(&tables, &content)?;
    state
        .notes
        .extend(metadata::unknown_in_words(&content.unknown));
    state.notes.extend(stray_files(&names, &places));
    let ranks = if is_merged { metadata.len() } else { 0 };
    state.notes.push(in_words(ranks, &places, &content));
    let dcp = Arc::new(Dcp {
        tables,
        tensors: content.tensors,
        chunks: content.chunks,
        places,
        limits: options.limits,
        verify: options.verify,
    });
    for (number, name) in &content.order {
        let name = dcp.tables.texts.get(*name);
        let path = content.paths.of(name);
        match number {
            Entry::Tensor(number) => {
                let Some(tensor) = dcp.tensors.get(*number) else {
                    continue;
                };
                let shape = sizes(&tensor.shape)?;
                let chunks = DcpChunks::new(&dcp, *number);
                state.joined(name, path, tensor.dtype, &shape, Box::new(chunks))?;
            }
            Entry::Value(info) => {
                let (value, globals) = dcp.value(name, *info)?;
                state.name_globals(name, globals);
                state.value(name, path, &value)?;
            }
        }
    }
    state.finish(Format::TorchDcp, options)
}

/// The files of the metadata: one, or one for each rank.
fn metadata_files(names: &[String]) -> Result<Vec<String>> {
    if names.iter().any(|name| name == METADATA_NAME) {
        return Ok(vec![METADATA_NAME.to_owned()]);
    }
    let mut ranks: Vec<(u64, &String)> = names
        .iter()
        .filter_map(|name| Some((rank_of_metadata(name)?, name)))
        .collect();
    ranks.sort_unstable();
    if ranks.is_empty() {
        return Err(Error::distributed(
            DistributedFault::NoMetadata,
            "the folder has files of ranks (`.distcp`) and no `.metadata`, which is written last: \
             the save broke off, and nothing can be joined",
        ));
    }
    for (expected, (rank, name)) in (0..).zip(&ranks) {
        if *rank != expected {
            return Err(Error::distributed(
                DistributedFault::MissingRank,
                format!(
                    "expected the metadata of rank {expected} (`__{expected}.metadata`), found \
                     `{name}` next; copy the missing file as well"
                ),
            ));
        }
    }
    Ok(ranks.into_iter().map(|(_, name)| name.clone()).collect())
}

/// What an entry of the state is.
#[derive(Clone, Copy, Debug)]
enum Entry {
    /// The tensor of that number.
    Tensor(usize),
    /// A byte item, which is at the place of that number.
    Value(u32),
}

/// A chunk: where its offsets and sizes are among the integers, and the number of its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkPlace {
    offsets: u32,
    sizes: u32,
    info: u32,
}

/// What the metadata of all ranks says together.
#[derive(Debug, Default)]
struct Content {
    tensors: Vec<DcpTensor>,
    chunks: Vec<ChunkPlace>,
    order: Vec<(Entry, u32)>,
    paths: PathPartMap,
    unknown: Vec<(String, String)>,
    /// For each name the number of its entry in the order.
    known: HashMap<u32, usize>,
}

impl Content {
    /// Adds what the metadata of one rank says, or of all.
    fn add(&mut self, tables: &Tables, root: Root, is_merged: bool) -> Result<()> {
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
                    self.add_value(name, info, is_merged)
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
                    let mut chunks = Vec::new();
                    for chunk in list {
                        let chunk = chunk.index_of(Kind::Chunk);
                        let chunk = chunk.and_then(|chunk| at(&tables.chunks, chunk));
                        let chunk = chunk
                            .filter(|chunk| chunk.offsets != NOTHING && chunk.sizes != NOTHING)
                            .ok_or_else(|| {
                                Error::distributed(
                                    DistributedFault::NotMetadata,
                                    "a chunk without offsets or sizes",
                                )
                            })?;
                        let info = lookup.find(tables, name, chunk.offsets).ok_or_else(|| {
                            let offsets = tables.ints.get(chunk.offsets);
                            no_entry(&format!("the chunk with the offsets {offsets:?}"))
                        });
                        // Numbers of dimensions that differ are told first, by their own name.
                        let (offsets, sizes) = (chunk.offsets, chunk.sizes);
                        cover::check_box(
                            &tables.ints.get(row.size),
                            &ChunkBox {
                                offsets: tables.ints.get(offsets),
                                sizes: tables.ints.get(sizes),
                            },
                        )?;
                        chunks.push(ChunkPlace {
                            offsets,
                            sizes,
                            info: info?,
                        });
                    }
                    self.add_tensor(tables, name, *row, chunks, is_merged)
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

    fn add_value(&mut self, name: u32, info: u32, is_merged: bool) -> Result<()> {
        match self.known.get(&name).and_then(|&at| self.order.get(at)) {
            None => {
                self.known.insert(name, self.order.len());
                self.order.push((Entry::Value(info), name));
                Ok(())
            }
            // Every rank has written it.
            Some((Entry::Value(_), _)) if is_merged => Ok(()),
            Some(_) => Err(twice()),
        }
    }

    fn add_tensor(
        &mut self,
        tables: &Tables,
        name: u32,
        row: tables::TensorRow,
        mut chunks: Vec<ChunkPlace>,
        is_merged: bool,
    ) -> Result<()> {
        let dtype = row.dtype.ok_or_else(|| {
            Error::unsupported("a tensor of a dtype that is not known here, or of none")
        })?;
        let shape = tables.ints.get(row.size);
        let known = self.known.get(&name).and_then(|&at| self.order.get(at));
        let Some(known) = known else {
            let start = self.chunks.len();
            self.chunks.append(&mut chunks);
            self.known.insert(name, self.order.len());
            self.order.push((Entry::Tensor(self.tensors.len()), name));
            self.tensors.push(DcpTensor {
                name,
                dtype,
                shape,
                chunks: start..self.chunks.len(),
            });
            return Ok(());
        };
        let (Entry::Tensor(number), true) = (known.0, is_merged) else {
            return Err(twice());
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
        // The chunks of a tensor stay together; those that several ranks wrote count once.
        let all = self.chunks.get(tensor.chunks.clone()).unwrap_or_default();
        let mut all = all.to_vec();
        let same = |a: &ChunkPlace, b: &ChunkPlace| {
            tables.ints.bytes(a.offsets) == tables.ints.bytes(b.offsets)
                && tables.ints.bytes(a.sizes) == tables.ints.bytes(b.sizes)
        };
        for chunk in chunks {
            if !all.iter().any(|known| same(known, &chunk)) {
                all.push(chunk);
            }
        }
        let start = self.chunks.len();
        self.chunks.append(&mut all);
        tensor.chunks = start..self.chunks.len();
        Ok(())
    }

    /// Checks that the chunks of each tensor cover it.
    fn check(&self, tables: &Tables) -> Result<()> {
        for tensor in &self.tensors {
            let chunks = self.chunks.get(tensor.chunks.clone()).unwrap_or_default();
            let boxes: Vec<ChunkBox> = chunks.iter().map(|chunk| chunk.in_box(tables)).collect();
            cover::check(&tensor.shape, &boxes)
                .map_err(|error| error.in_tensor(tables.texts.get(tensor.name)))?;
        }
        Ok(())
    }
}

impl ChunkPlace {
    fn in_box(&self, tables: &Tables) -> ChunkBox {
        ChunkBox {
            offsets: tables.ints.get(self.offsets),
            sizes: tables.ints.get(self.sizes),
        }
    }
}

/// The places of one metadata, by name and offset.
struct Lookup {
    /// Numbers of indices and places, sorted by name and offset.
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
                    "an entry of `storage_data` that is no index with a place",
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
                "two places of one chunk",
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

    /// The place of a chunk, or of a byte item, which has no offsets.
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

/// A shape as one of memory.
fn sizes(shape: &[i64]) -> Result<Vec<usize>> {
    let sizes = shape.iter().map(|&size| usize::try_from(size));
    sizes
        .collect::<Result<_, _>>()
        .map_err(|_| Error::unsupported(format!("the shape {shape:?} has no room in memory")))
}

/// Says which files of ranks nothing names: those of an earlier save of more ranks, say.
fn stray_files(names: &[String], places: &PlaceTable) -> Option<String> {
    let strays: Vec<&str> = names
        .iter()
        .filter(|name| name.ends_with(".distcp") && !places.names(name))
        .map(String::as_str)
        .collect();
    let last = strays.last()?;
    Some(match strays.len() {
        1 => format!(
            "the file `{}` is named by nothing and not read",
            shown(last)
        ),
        count => format!(
            "{count} files (`{}` among them) are named by nothing and not read",
            shown(last)
        ),
    })
}

/// How many chunks and files there are.
fn in_words(ranks: usize, places: &PlaceTable, content: &Content) -> String {
    let ranks = match ranks {
        0 => String::new(),
        count => format!(", with a `.metadata` for each of {count} ranks"),
    };
    format!(
        "the tensors are joined from {} chunks in {} files{ranks}",
        content.tensors.iter().fold(0usize, |sum, tensor| sum
            .saturating_add(tensor.chunks.len())),
        places.file_count()
    )
}
