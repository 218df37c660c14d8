//! Checkpoints of several processes, which are not read: what they are, and what to do.

use std::path::Path;

use super::Listing;
use crate::error::Error;

/// How to write one file from a folder of `torch.distributed.checkpoint`.
const DCP_TO_TORCH: &str = "make one file of it: `python -m torch.distributed.checkpoint.format_utils \
                            dcp_to_torch FOLDER FILE`";

/// The error of a folder that several processes wrote; `None` for another folder.
pub(super) fn folder(listing: &Listing) -> Option<Error> {
    let any = |takes: &dyn Fn(&str) -> Option<()>| !listing.files(takes).is_empty();
    let is_dcp = any(&|name| {
        let is_table = name == ".metadata" || name.starts_with("__") && name.ends_with(".metadata");
        (is_table || name.ends_with(".distcp")).then_some(())
    });
    let (what, hint) = if is_dcp {
        (
            "a distributed checkpoint of PyTorch (torch.distributed.checkpoint)",
            DCP_TO_TORCH,
        )
    } else if any(&|name| is_hugging_face_shard(name)) {
        (
            "a distributed checkpoint of PyTorch in the form of Hugging Face, whose files hold \
             pieces of tensors,",
            "join it with `torch.distributed.checkpoint._consolidate_hf_safetensors`",
        )
    } else if listing.has("zero_to_fp32.py")
        || any(&|name| name.ends_with("_optim_states.pt").then_some(()))
        || listing.has("latest")
            && listing
                .folders()
                .any(|name| name.starts_with("global_step"))
    {
        (
            "a ZeRO checkpoint of DeepSpeed",
            "make one file of it: `python zero_to_fp32.py FOLDER FILE`, with the script that \
             DeepSpeed puts beside it",
        )
    } else if listing.has("latest_checkpointed_iteration.txt")
        || listing.folders().any(|name| name.starts_with("mp_rank_"))
    {
        (
            "a checkpoint of Megatron-LM",
            "convert it with Megatron's own tool, or open the `model_optim_rng.pt` of one process",
        )
    } else if any(&is_rank_file) {
        (
            "a folder with a file for each process",
            "join them with the tool that wrote them, or open one of them: a DTensor in it is one \
             process's piece, which `full_tensor()` joins before it is saved",
        )
    } else {
        return None;
    };
    Some(Error::unsupported(format!("{what} is not read; {hint}")))
}

/// The error of a file of such a folder; `None` for another file.
pub(in crate::reader) fn part(path: &Path) -> Option<Error> {
    let is_part = path
        .extension()
        .is_some_and(|extension| extension == "distcp");
    is_part.then(|| {
        Error::unsupported(format!(
            "a part of a distributed checkpoint of PyTorch (torch.distributed.checkpoint) is not \
             read by itself; with its folder, {DCP_TO_TORCH}"
        ))
    })
}

/// `shard-00001-model-00001-of-00003.safetensors`.
fn is_hugging_face_shard(name: &str) -> Option<()> {
    let (number, rest) = name.strip_prefix("shard-")?.split_once("-model-")?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && rest.contains("-of-") && rest.ends_with(".safetensors")).then_some(())
}

/// `model_world_size_2_rank_0.pt`, `pytorch_model_fsdp_0_rank0.bin`.
fn is_rank_file(name: &str) -> Option<()> {
    let (stem, extension) = name.rsplit_once('.')?;
    let (_, number) = stem.rsplit_once("rank")?;
    let number = number.strip_prefix('_').unwrap_or(number);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && ["pt", "pth", "bin"].contains(&extension)).then_some(())
}
