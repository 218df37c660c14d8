//! The files that the items are in, and where in them they are.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::merged::{Entry, MergedMetadata};
use super::tables::{InfoRow, NOTHING, Tables, at};
use crate::Limits;
use crate::distributed::cover::product;
use crate::distributed::files::RankFiles;
use crate::error::{DistributedFault, Error, Result, shown};
use crate::source::ByteRange;

/// With what the content of a zip archive begins.
const ARCHIVE: &[u8] = b"PK\x03\x04";
/// The one transform that PyTorch has.
const ZSTD: &str = "stream.zstd";

/// The files of the items, by the numbers of their paths.
#[derive(Debug)]
pub(super) struct ItemFiles {
    files: HashMap<u32, ItemFile>,
}

#[derive(Debug)]
pub(super) struct ItemFile {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) bytes: ByteRange,
}

impl ItemFiles {
    /// The files that the items are in.
    ///
    /// # Errors
    /// When a name leads out of the folder, a file is not there, or a transform is not known.
    pub(super) fn new(
        tables: &Tables,
        files: &RankFiles,
        metadata: &MergedMetadata,
        limits: &Limits,
    ) -> Result<Self> {
        let mut table = Self {
            files: HashMap::new(),
        };
        for info in infos(metadata) {
            let Some(row) = at(&tables.infos, info) else {
                continue;
            };
            if row.path == NOTHING {
                return Err(Error::distributed(
                    DistributedFault::NotMetadata,
                    "a `_StorageInfo` without a path",
                ));
            }
            if table.files.contains_key(&row.path) {
                continue;
            }
            let name = tables.texts.get(row.path);
            let path = files.path(name)?;
            let bytes = files.open(&path)?;
            table.files.insert(
                row.path,
                ItemFile {
                    name: name.to_owned(),
                    path,
                    bytes,
                },
            );
            // Every chunk may be in a file of its own.
            let (allowed, found) = (limits.max_chunks, table.files.len() as u64);
            if found > allowed {
                return Err(Error::limit("max_chunks", allowed, found));
            }
        }
        for transforms in &tables.transforms {
            for &transform in transforms {
                let transform = tables.texts.get(transform);
                let (name, version) = transform.split_once('/').unwrap_or((transform, ""));
                if name != ZSTD || version.split('.').next() != Some("1") {
                    return Err(Error::distributed(
                        DistributedFault::UnsupportedTransform,
                        format!(
                            "an item was transformed by `{}`; only `{ZSTD}/1` is undone",
                            shown(transform)
                        ),
                    ));
                }
            }
        }
        Ok(table)
    }

    /// The file of an item, and where in it the item is.
    pub(super) fn file(&self, row: &InfoRow) -> Result<&ItemFile> {
        self.files.get(&row.path).ok_or_else(|| {
            Error::distributed(DistributedFault::MissingFile, "an item without a file")
        })
    }

    /// The names of the files.
    pub(super) fn names(&self) -> HashSet<&str> {
        let files = self.files.values();
        files.map(|file| file.name.as_str()).collect()
    }

    pub(super) fn file_count(&self) -> usize {
        self.files.len()
    }

    /// Checks that each item is within its file, has room for its chunk, and shares no byte with
    /// another one.
    ///
    /// # Errors
    /// When it is not so.
    pub(super) fn check_items(&self, tables: &Tables, metadata: &MergedMetadata) -> Result<()> {
        for tensor in &metadata.tensors {
            let name = tables.texts.get(tensor.name);
            for chunk in &tensor.chunks {
                let Some(row) = at(&tables.infos, chunk.info) else {
                    continue;
                };
                self.check_range(row, name)?;
                let sizes = tables.ints.get(chunk.sizes);
                let element = u64::try_from(tensor.dtype.size()).unwrap_or(u64::MAX);
                let needed = product(&sizes).and_then(|count| count.checked_mul(element));
                let most = most_inflated(tables, row);
                let has_room = needed.is_some_and(|needed| needed <= most);
                if !has_room {
                    return Err(Error::distributed(
                        DistributedFault::Limit,
                        format!(
                            "a chunk of {} elements of {} in an item of {} bytes (`{}`)",
                            product(&sizes).unwrap_or(u64::MAX),
                            tensor.dtype,
                            row.len,
                            shown(tables.texts.get(row.path))
                        ),
                    )
                    .in_tensor(name));
                }
            }
        }
        for (entry, name) in &metadata.order {
            if let Entry::Value(info) = entry
                && let Some(row) = at(&tables.infos, *info)
            {
                self.check_range(row, tables.texts.get(*name))?;
            }
        }
        self.check_disjoint(tables, metadata)
    }

    fn check_range(&self, row: &InfoRow, name: &str) -> Result<()> {
        let file = self.file(row)?;
        let size = file.bytes.byte_len();
        let end = row.offset.checked_add(row.len);
        let is_within = row.offset >= 0
            && row.len >= 0
            && end.is_some_and(|end| u64::try_from(end).is_ok_and(|end| end <= size));
        if is_within {
            return Ok(());
        }
        Err(Error::distributed(
            DistributedFault::Truncated,
            format!(
                "expected an item of {} bytes at byte {}, found a file of {size} bytes",
                row.len, row.offset
            ),
        )
        .in_tensor(name)
        .in_path(&file.path))
    }

    fn check_disjoint(&self, tables: &Tables, metadata: &MergedMetadata) -> Result<()> {
        let mut rows: Vec<u32> = infos(metadata).collect();
        let key = |&info: &u32| {
            let row = at(&tables.infos, info);
            row.map_or((NOTHING, 0, 0), |row| (row.path, row.offset, row.len))
        };
        // Items of no byte share none.
        rows.retain(|info| key(info).2 > 0);
        rows.sort_unstable_by_key(key);
        for pair in rows.windows(2) {
            let [first, second] = pair else {
                continue;
            };
            let (Some(a), Some(b)) = (at(&tables.infos, *first), at(&tables.infos, *second)) else {
                continue;
            };
            if a.path != b.path || a.offset.saturating_add(a.len) <= b.offset {
                continue;
            }
            // All tensors of a safetensors file within a file of a rank have the place of that file.
            if a.offset == b.offset && self.is_safetensors(a)? {
                continue;
            }
            let file = self.file(a)?;
            return Err(Error::distributed(
                DistributedFault::OverlappingRanges,
                format!(
                    "two items share bytes: {} from byte {}, and {} from byte {}",
                    a.len, a.offset, b.len, b.offset
                ),
            )
            .in_path(&file.path));
        }
        Ok(())
    }

    /// Whether the item is a tensor of a safetensors file that begins there.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn is_safetensors(&self, row: &InfoRow) -> Result<bool> {
        if row.transforms != NOTHING {
            return Ok(false);
        }
        let offset = u64::try_from(row.offset).unwrap_or(u64::MAX);
        let file = self.file(row)?;
        let start = file.bytes.read_up_to(offset, ARCHIVE.len() as u64)?;
        Ok(*start != *ARCHIVE)
    }
}

/// Bytes that an item holds at most. A block of a Zstandard frame takes four bytes at least and gives
/// 128 KiB at most.
fn most_inflated(tables: &Tables, row: &InfoRow) -> u64 {
    const MOST_RATIO: u64 = (128 << 10) / 4;
    let stored = u64::try_from(row.len).unwrap_or(0);
    let transforms = tables.transforms(row).iter();
    transforms.fold(stored, |len, _| len.saturating_mul(MOST_RATIO))
}

/// The `_StorageInfo` of all items.
fn infos(metadata: &MergedMetadata) -> impl Iterator<Item = u32> + '_ {
    let chunks = metadata.tensors.iter().flat_map(|tensor| &tensor.chunks);
    let values = metadata.order.iter().filter_map(|(entry, _)| match entry {
        Entry::Value(info) => Some(*info),
        Entry::Tensor(_) => None,
    });
    chunks.map(|chunk| chunk.info).chain(values)
}
