//! Safetensors files with pieces of tensors, as `torch.distributed.checkpoint` writes them for Hugging
//! Face: the metadata of each file says where its pieces belong.

use std::collections::HashMap;
use std::path::Path;

use indexmap::IndexMap;
use serde::Deserialize;

use super::cover::{self, ChunkBox};
use super::files::{self, RankFiles};
use super::paths::PathPart;
use super::state::State;
use crate::error::{DistributedFault, Error, Result, shown};
use crate::open::{OpenOptions, OpenedTorch};
use crate::safetensors::SafeTensors;
use crate::tensor::TensorChunk;
use crate::{Dtype, Format};

/// The key of the metadata that says where the pieces of a file belong.
pub(crate) const SHARDING_INFO: &str = "DCP_SHARDING_INFO";

/// What that text says of one piece.
#[derive(Deserialize)]
struct ShardingInfo {
    saved_offsets: Vec<u64>,
}

/// The rank in a name such as `shard-00001-model-00001-of-00003.safetensors`, counted from 1.
pub(crate) fn rank_of_shard(name: &str) -> Option<u64> {
    let (number, rest) = name.strip_prefix("shard-")?.split_once("-model-")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && rest.contains("-of-") && rest.ends_with(".safetensors"))
        .then(|| number.parse().ok())
        .flatten()
}

/// Whether a safetensors file of a folder says that it has pieces of tensors. Read as a shard, it would
/// have tensors that are too small.
///
/// # Errors
/// When such a file cannot be read.
pub(super) fn has_pieces(folder: &Path, names: &[String], options: &OpenOptions) -> Result<bool> {
    let files = RankFiles::new(folder);
    for name in names.iter().filter(|name| name.ends_with(".safetensors")) {
        let path = folder.join(name);
        let read = || SafeTensors::parse(&files.open(&path)?, &options.limits);
        let file = read().map_err(|error: Error| error.in_path(&path))?;
        if file.metadata().contains_key(SHARDING_INFO) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the metadata of a safetensors file puts a tensor elsewhere than at the start of its whole, so
/// that it is a piece for sure. PyTorch writes the text into files of whole tensors as well.
pub(crate) fn has_offsets(metadata: &IndexMap<String, String>) -> bool {
    metadata.get(SHARDING_INFO).is_some_and(|text| {
        let info: Result<HashMap<String, ShardingInfo>, _> = serde_json::from_str(text);
        info.is_ok_and(|info| {
            let mut offsets = info.values().flat_map(|info| &info.saved_offsets);
            offsets.any(|&offset| offset > 0)
        })
    })
}

/// The pieces of one tensor.
#[derive(Default)]
struct Pieces {
    dtype: Option<Dtype>,
    boxes: Vec<ChunkBox>,
    chunks: Vec<TensorChunk>,
}

/// Opens a folder of such files.
///
/// # Errors
/// When a piece says not where it belongs, or the pieces of a tensor do not make a whole.
pub(super) fn open(folder: &Path, options: &OpenOptions) -> Result<OpenedTorch> {
    let files = RankFiles::new(folder);
    let (names, _) = files::names(folder)?;
    let names: Vec<&String> = names
        .iter()
        .filter(|name| name.ends_with(".safetensors"))
        .collect();
    let mut state = State::new(options.part);
    let mut tensors: IndexMap<String, Pieces> = IndexMap::new();
    for name in &names {
        let path = folder.join(name);
        let mut read = || add_file(&files, &path, options, &mut tensors);
        read().map_err(|error| error.in_path(&path))?;
    }
    for (name, pieces) in tensors {
        let shape = pieces.shape().map_err(|error| error.in_tensor(&name))?;
        cover::check(&shape, &pieces.boxes).map_err(|error| error.in_tensor(&name))?;
        let sizes: Vec<usize> = shape
            .iter()
            .map(|&size| usize::try_from(size).unwrap_or(usize::MAX))
            .collect();
        let dtype = pieces.dtype.unwrap_or(Dtype::UInt8);
        let path = PathPart::top(&name);
        state.joined(&name, path, dtype, &sizes, Box::new(pieces.chunks))?;
    }
    state.notes.push(format!(
        "the tensors are joined from the pieces in {} files, which state neither the shapes of the \
         whole tensors nor the number of ranks: a file of the last rank that is missing cannot be \
         noticed{}",
        names.len(),
        gap(&names).unwrap_or_default()
    ));
    state.finish(Format::DcpSafeTensors, options.nested)
}

/// The first rank that has no file although a later one has: it may have had nothing to write.
fn gap(names: &[&String]) -> Option<String> {
    let mut ranks: Vec<u64> = names
        .iter()
        .filter_map(|name| rank_of_shard(name))
        .collect();
    ranks.sort_unstable();
    ranks.dedup();
    let missing = (1u64..)
        .zip(&ranks)
        .find(|(expected, rank)| expected != *rank)?;
    Some(format!("; there is no file of rank {}", missing.0))
}

fn add_file(
    files: &RankFiles,
    path: &Path,
    options: &OpenOptions,
    tensors: &mut IndexMap<String, Pieces>,
) -> Result<()> {
    let bytes = files.open(path)?;
    if *bytes.read_up_to(0, 2)? == *b"PK" {
        return Err(Error::distributed(
            DistributedFault::BadContainer,
            "the file begins with a value that is no tensor, which the writer put in front of its \
             safetensors header: the tensors cannot be told any more; save them without such values",
        ));
    }
    let file = SafeTensors::parse(&bytes, &options.limits)?;
    let info: HashMap<String, ShardingInfo> = match file.metadata().get(SHARDING_INFO) {
        None => HashMap::new(),
        Some(text) => serde_json::from_str(text).map_err(|error| {
            Error::distributed(
                DistributedFault::NoShardingInfo,
                format!("the text `{SHARDING_INFO}` is not what says where pieces belong: {error}"),
            )
        })?,
    };
    for (name, tensor) in file.tensors() {
        let shape = tensor.shape();
        let offsets = info.get(name).map(|info| &info.saved_offsets);
        let offsets = offsets.filter(|offsets| offsets.len() == shape.len()).ok_or_else(|| {
            Error::distributed(
                DistributedFault::NoShardingInfo,
                format!(
                    "the metadata `{SHARDING_INFO}` does not say where the piece of shape {shape:?} \
                     belongs"
                ),
            )
            .in_tensor(name)
        })?;
        let pieces = tensors.entry(name.to_owned()).or_default();
        let dtype = *pieces.dtype.get_or_insert(tensor.dtype());
        if dtype != tensor.dtype() {
            return Err(Error::distributed(
                DistributedFault::ChunkDtype,
                format!("a piece of {} of a tensor of {dtype}", tensor.dtype()),
            )
            .in_tensor(name));
        }
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        pieces.boxes.push(ChunkBox {
            offsets: offsets.iter().map(|&offset| signed(offset)).collect(),
            sizes: shape.iter().map(|&size| signed(size as u64)).collect(),
        });
        let offsets = offsets.iter().map(|&offset| usize::try_from(offset));
        pieces.chunks.push(TensorChunk {
            offsets: offsets.collect::<Result<_, _>>().map_err(|_| {
                Error::distributed(
                    DistributedFault::Limit,
                    format!("an offset of `{}` is beyond memory", shown(name)),
                )
            })?,
            tensor: tensor.clone(),
        });
    }
    Ok(())
}

impl Pieces {
    /// The shape of the whole, which is stated nowhere: the pieces reach to its end.
    fn shape(&self) -> Result<Vec<i64>> {
        let rank = self.boxes.first().map_or(0, |piece| piece.offsets.len());
        if let Some(other) = self.boxes.iter().find(|piece| piece.offsets.len() != rank) {
            return Err(Error::distributed(
                DistributedFault::ChunkRank,
                format!("pieces with {rank} and {} dimensions", other.offsets.len()),
            ));
        }
        let ends = |dim: usize| {
            let ends = self.boxes.iter().map(|piece| {
                let offset = piece.offsets.get(dim).copied().unwrap_or(0);
                offset.saturating_add(piece.sizes.get(dim).copied().unwrap_or(0))
            });
            ends.max().unwrap_or(0)
        };
        Ok((0..rank).map(ends).collect())
    }
}
