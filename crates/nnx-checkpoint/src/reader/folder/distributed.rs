//! Checkpoints of several processes that are not joined: their kinds, and the remedy.

use super::Listing;
use crate::distributed::is_part;
use crate::error::{DistributedFault, Error, Result};

/// Refuses names of a checkpoint of several processes, which is joined on the disk alone.
///
/// # Errors
/// When there is such a name.
pub(in crate::reader) fn refuse(names: &[&str]) -> Result<()> {
    match names.iter().find(|name| is_part(name)) {
        None => Ok(()),
        Some(name) => Err(not_joined_here(name)),
    }
}

/// The error of a file with parts of tensors that is not on the disk.
pub(in crate::reader) fn not_joined_here(name: &str) -> Error {
    Error::unsupported(format!(
        "`{name}` is a part of a checkpoint of several processes, which is joined from files on the \
         disk alone; copy its folder there"
    ))
}

/// The error of a folder whose parts only other tools can join; `None` for another folder.
pub(super) fn not_joined(listing: &Listing) -> Option<Error> {
    let has_folder = |start: &str| listing.folders().any(|name| name.starts_with(start));
    let any_file = |takes: &dyn Fn(&str) -> Option<()>| !listing.files(takes).is_empty();
    let (what, hint) = if listing.has("latest_checkpointed_iteration.txt")
        || has_folder("mp_rank_")
        || has_folder("iter_")
    {
        (
            "a checkpoint of Megatron-LM, split by tensor and pipeline parallelism,",
            "convert it with Megatron's own tool, or open the `model_optim_rng.pt` of one process",
        )
    } else if listing.has(".snapshot_metadata") {
        (
            "a snapshot of torchsnapshot",
            "load it with `torchsnapshot.Snapshot` and save it with `torch.save`",
        )
    } else if listing.has(".zarray") || any_file(&|name| (name == ".zgroup").then_some(())) {
        (
            "a checkpoint in zarr arrays, as older versions of Megatron-core write it,",
            "convert it with Megatron's `tools/checkpoint`, or save it as `torch_dist`",
        )
    } else if listing.has("metadata.json") && listing.has("common.pt") {
        (
            "a checkpoint of Megatron-core without files of ranks (`.metadata`)",
            "if it is one in zarr arrays, save it as `torch_dist` with Megatron",
        )
    } else if listing.has("_METADATA") || listing.has("_CHECKPOINT_METADATA") {
        (
            "a checkpoint of Orbax",
            "load it with `orbax.checkpoint` and save its arrays as a safetensors file",
        )
    } else {
        return None;
    };
    Some(Error::distributed(
        DistributedFault::NotJoined,
        format!("{what} is not read; {hint}"),
    ))
}
