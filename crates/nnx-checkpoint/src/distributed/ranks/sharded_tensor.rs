//! `ShardedTensor`: the shards of a rank, and the metadata of all.
//!
//! Source: `torch/distributed/_shard/sharded_tensor/api.py` and `metadata.py`.

use std::collections::HashSet;

use super::whole::WholeTensor;
use crate::Dtype;
use crate::distributed::cover::{ChunkBox, signed};
use crate::distributed::torch_file::{TorchFile, attribute, shape};
use crate::error::{DistributedFault, Error, Result};
use crate::pickle::NodeId;
use crate::tensor::TensorChunk;
use crate::torch::TensorInfo;

/// What one rank has of a tensor.
pub(super) struct ShardedTensor<'a> {
    file: &'a TorchFile,
    dtype: Dtype,
    shape: Vec<usize>,
    /// The boxes of all ranks.
    stated: Vec<ChunkBox>,
    /// The shards of this rank.
    local: Vec<(ChunkBox, NodeId)>,
    world: Option<u64>,
}

impl<'a> ShardedTensor<'a> {
    pub(super) fn new(file: &'a TorchFile, info: &TensorInfo) -> Result<Self> {
        let graph = file.graph();
        let unfit = |what: &str| {
            Error::malformed(format!("expected a ShardedTensor, found one {what}"))
                .in_path(&file.path)
        };
        // (local shards, metadata, process group state, sharding spec, flag)
        let state = info.attributes.and_then(|state| graph.sequence(state));
        let Some(&[local, metadata, group, ..]) = state else {
            return Err(unfit("without its five members of state"));
        };
        let in_box = |id: NodeId| {
            let offsets = attribute(graph, id, "shard_offsets")?;
            let sizes = attribute(graph, id, "shard_sizes")?;
            Some(ChunkBox {
                offsets: shape(graph, offsets)?,
                sizes: shape(graph, sizes)?,
            })
        };
        let shards = attribute(graph, metadata, "shards_metadata");
        let shards = shards.and_then(|shards| graph.sequence(shards));
        let stated = shards.and_then(|shards| shards.iter().map(|&id| in_box(id)).collect());
        let stated: Vec<ChunkBox> = stated.ok_or_else(|| unfit("without its list of shards"))?;
        let whole = attribute(graph, metadata, "size").and_then(|size| shape(graph, size));
        let whole = whole.ok_or_else(|| unfit("without its size"))?;
        let sizes = whole.iter().map(|&size| usize::try_from(size).ok());
        let sizes: Option<Vec<usize>> = sizes.collect();
        let local = graph.sequence(local).and_then(|local| {
            let shards = local.iter().map(|&shard| {
                let metadata = attribute(graph, shard, "metadata")?;
                Some((in_box(metadata)?, attribute(graph, shard, "tensor")?))
            });
            shards.collect::<Option<Vec<_>>>()
        });
        let world = attribute(graph, group, "global_world_size");
        Ok(Self {
            file,
            dtype: info.dtype,
            shape: sizes.ok_or_else(|| unfit("of a negative size"))?,
            stated,
            local: local.ok_or_else(|| unfit("without its shards"))?,
            world: world
                .and_then(|world| graph.int(world))
                .and_then(|world| u64::try_from(world).ok()),
        })
    }

    /// The number of ranks.
    pub(super) fn world(&self) -> Option<u64> {
        self.world
    }
}

/// The chunks of what all ranks have of a tensor.
///
/// # Errors
/// When the ranks disagree, or their shards are not those of the metadata.
pub(super) fn join(ranks: &[ShardedTensor<'_>]) -> Result<WholeTensor> {
    let Some(first) = ranks.first() else {
        return Err(Error::malformed("a tensor of no rank"));
    };
    let mut boxes: Vec<ChunkBox> = Vec::new();
    let mut chunks = Vec::new();
    let stated: HashSet<&ChunkBox> = first.stated.iter().collect();
    for rank in ranks {
        let is_same = rank.shape == first.shape && rank.stated == first.stated;
        let error = |fault, what: String| Error::distributed(fault, what).in_path(&rank.file.path);
        if !is_same {
            return Err(error(
                DistributedFault::RanksDisagree,
                format!(
                    "the ranks state a tensor of shape {:?} in {} shards, and one of {:?} in {}",
                    first.shape,
                    first.stated.len(),
                    rank.shape,
                    rank.stated.len()
                ),
            ));
        }
        for (shard, id) in &rank.local {
            let tensor = rank.file.expect_tensor(*id, "a shard")?;
            let sizes = signed(tensor.shape());
            if sizes != shard.sizes {
                return Err(error(
                    DistributedFault::ChunkShape,
                    format!(
                        "a shard of {:?} has a tensor of shape {sizes:?}",
                        shard.sizes
                    ),
                ));
            }
            if tensor.dtype() != first.dtype {
                return Err(error(
                    DistributedFault::ChunkDtype,
                    format!(
                        "a shard of {} of a tensor of {}",
                        tensor.dtype(),
                        first.dtype
                    ),
                ));
            }
            let is_empty = shard.sizes.contains(&0);
            if !is_empty && !stated.contains(shard) {
                return Err(error(
                    DistributedFault::Hole,
                    format!(
                        "the shard with the offsets {:?} and the sizes {:?} is not among those of the \
                         metadata",
                        shard.offsets, shard.sizes
                    ),
                ));
            }
            let offsets = shard.offsets.iter().map(|&offset| usize::try_from(offset));
            let offsets = offsets.collect::<Result<Vec<_>, _>>();
            boxes.push(shard.clone());
            chunks.push(TensorChunk {
                offsets: offsets.map_err(|_| {
                    error(
                        DistributedFault::ChunkOutside,
                        format!("a shard with the offsets {:?}", shard.offsets),
                    )
                })?,
                tensor,
            });
        }
    }
    WholeTensor::new(first.dtype, &first.shape, &boxes, chunks)
}
