//! Folders of `torch.distributed.checkpoint`: a `.metadata` that says where everything is, and files
//! of items, each a complete file of `torch.save`.

mod item_files;
mod items;
mod merged;
mod metadata;
mod tables;
mod value;

use std::path::Path;
use std::sync::Arc;

use self::item_files::ItemFiles;
use self::items::{Dcp, DcpChunks};
use self::merged::{Entry, MergedMetadata};
use self::tables::Tables;
use super::files::{self, RankFiles};
use super::state::State;
use crate::Format;
use crate::error::{DistributedFault, Error, Result, shown};
use crate::open::{OpenOptions, OpenedTorch};

/// The name of the metadata of all ranks.
pub(super) const METADATA_NAME: &str = ".metadata";

/// The rank of a file `__R.metadata`.
pub(super) fn rank_of_metadata(name: &str) -> Option<u64> {
    let rank = name.strip_prefix("__")?.strip_suffix(".metadata")?;
    let is_number = !rank.is_empty() && rank.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| rank.parse().ok()).flatten()
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
    let mut state = State::new(options.part);
    let mut merged = MergedMetadata::new(is_merged);
    for name in &metadata {
        let path = folder.join(name);
        let mut read = || {
            let bytes = files.open(&path)?;
            let root = metadata::read(&bytes, &mut tables, &options.limits)?;
            merged.add(&tables, root, &options.limits)
        };
        read().map_err(|error| error.in_path(&path))?;
    }
    let metadata_path = folder.join(metadata.first().map_or(METADATA_NAME, |name| name));
    merged
        .check(&tables)
        .map_err(|error| error.in_path(&metadata_path))?;
    let files = ItemFiles::new(&tables, &files, &merged, &options.limits)
        .map_err(|error| error.in_path(&metadata_path))?;
    files.check_items(&tables, &merged)?;
    state
        .notes
        .extend(metadata::unknown_in_words(&merged.unknown));
    state.notes.extend(stray_files(&names, &files));
    let ranks = if is_merged { metadata.len() } else { 0 };
    state.notes.push(in_words(ranks, &files, &merged));
    let dcp = Arc::new(Dcp {
        tables,
        tensors: merged.tensors,
        files,
        limits: options.limits,
        verify: options.verify,
    });
    for (number, name) in &merged.order {
        let name = dcp.tables.texts.get(*name);
        let path = merged.paths.of(name);
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
    state.finish(Format::TorchDcp, options.nested)
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

/// A shape as one of memory.
fn sizes(shape: &[i64]) -> Result<Vec<usize>> {
    let sizes = shape.iter().map(|&size| usize::try_from(size));
    sizes
        .collect::<Result<_, _>>()
        .map_err(|_| Error::unsupported(format!("the shape {shape:?} has no room in memory")))
}

/// Says which files of ranks nothing names: those of an earlier save of more ranks, say.
fn stray_files(names: &[String], files: &ItemFiles) -> Option<String> {
    let named = files.names();
    let strays: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| name.ends_with(".distcp") && !named.contains(name))
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
fn in_words(ranks: usize, files: &ItemFiles, metadata: &MergedMetadata) -> String {
    let ranks = match ranks {
        0 => String::new(),
        count => format!(", with a `.metadata` for each of {count} ranks"),
    };
    format!(
        "the tensors are joined from {} chunks in {} files{ranks}",
        metadata.tensors.iter().fold(0usize, |sum, tensor| sum
            .saturating_add(tensor.chunks.len())),
        files.file_count()
    )
}
