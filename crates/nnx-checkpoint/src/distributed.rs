//! Checkpoints that several processes wrote: containers beside zip, legacy and tar.
//!
//! Each gives one object as `torch.save` would write it: a dict with the names of the whole
//! tensors, whose storages are made of chunks in the files of the ranks, and the other values.
//! The metadata is checked before any element is read; elements are read when they are asked for.

mod cover;
mod dcp;
mod files;
mod hf;
mod kind;
mod paths;
mod ranks;
mod state;
mod torch_file;
mod universal;
mod zero;

use std::path::Path;

pub(crate) use self::hf::{SHARDING_INFO, has_offsets};
pub(crate) use self::kind::{DistributedKind, Recognized, is_part};
pub(crate) use self::ranks::has_pieces;
use crate::error::Result;
use crate::open::{OpenOptions, OpenedTorch};

/// Opens a folder of that kind.
///
/// # Errors
/// When the checkpoint is not whole, contradicts itself, or names what runs code.
pub(crate) fn open(
    folder: &Path,
    kind: &DistributedKind,
    options: &OpenOptions,
) -> Result<OpenedTorch> {
    match kind {
        DistributedKind::TorchDcp => dcp::open(folder, options),
        DistributedKind::Zero => zero::open(folder, options),
        DistributedKind::Universal => universal::open(folder, options),
        DistributedKind::SafeTensors => hf::open(folder, options),
        DistributedKind::RankPickles(stem) => ranks::open(folder, stem, options),
    }
}
