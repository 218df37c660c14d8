//! Telling formats apart by their first bytes.

mod compression;

use std::fmt;

pub use self::compression::compression;

/// Bytes of a file's beginning that [`sniff`] looks at, at most.
pub const SNIFF_BYTES: usize = 512;

/// The format of a file, judged by its first bytes. Displayed with its article: `a GGUF model`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A zip archive, as `torch.save` writes it.
    TorchZip,
    /// A safetensors file.
    SafeTensors,
    /// `torch.save` without a zip archive: five pickles, then the storages.
    TorchLegacy,
    /// Some other pickle of protocol 2 or later.
    Pickle,
    /// A tar archive, as the very first versions of PyTorch wrote it.
    Tar,
    /// A TorchScript archive: a zip archive with a program beside its tensors. [`sniff`] sees a
    /// [`TorchZip`](Self::TorchZip); a reader that knows the entries tells them apart.
    TorchScript,
    /// Safetensors files with an index, never the outcome of [`sniff`].
    ShardedSafeTensors,
    /// Files of `torch.save` with an index, never the outcome of [`sniff`].
    ShardedTorch,
    /// A folder of `torch.distributed.checkpoint`, never the outcome of [`sniff`].
    TorchDcp,
    /// Safetensors files with pieces of tensors, as `torch.distributed.checkpoint` writes them for
    /// Hugging Face, never the outcome of [`sniff`].
    DcpSafeTensors,
    /// A file of `torch.save` for each process, never the outcome of [`sniff`].
    RankPickles,
    /// A save of DeepSpeed's ZeRO, never the outcome of [`sniff`].
    DeepSpeedZero,
    /// A universal checkpoint of DeepSpeed, never the outcome of [`sniff`].
    DeepSpeedUniversal,
    /// A zip archive without entries.
    EmptyZip,
    /// A GGUF model, as llama.cpp has it.
    Gguf,
    /// An HDF5 file, as Keras writes it.
    Hdf5,
    /// A NumPy array.
    Npy,
    /// An ONNX model.
    Onnx,
    /// A SavedModel of TensorFlow (`saved_model.pb`).
    SavedModel,
    /// A msgpack file, as Flax writes it.
    Flax,
    /// A compressed file; [`compression`] tells how.
    Compressed,
    /// The text that Git LFS leaves in place of a file that was not downloaded.
    GitLfsPointer,
    /// A web page, often an error message saved under the name of a model.
    Html,
}

/// Tells the format of a file by its first [`SNIFF_BYTES`] bytes (fewer when the file is shorter).
/// `None`: no format that we know; NNx gives such a file to the safetensors loader.
///
/// This looks at no more than the prefix: a file may turn out to be malformed when it is read.
/// The order is that of NNx: a zip, then a safetensors header, whose length may well begin with a
/// pickle's 0x80, then a pickle.
///
/// ```
/// use nnx_checkpoint::{Format, sniff};
///
/// assert_eq!(sniff(b"PK\x03\x04"), Some(Format::TorchZip));
/// assert_eq!(sniff(b"\x80\x00\x00\x00\x00\x00\x00\x00{"), Some(Format::SafeTensors));
/// assert_eq!(sniff(b""), None);
/// ```
pub fn sniff(prefix: &[u8]) -> Option<Format> {
    if let Some((_, format)) = MAGICS.iter().find(|(magic, _)| prefix.starts_with(magic)) {
        return Some(*format);
    }
    if compression::certain(prefix).is_some() {
        return Some(Format::Compressed);
    }
    if is_html(prefix) {
        return Some(Format::Html);
    }
    if prefix.get(8) == Some(&b'{') {
        return Some(Format::SafeTensors);
    }
    // Read as a length, these may be that of a safetensors header, hence after it.
    if compression::likely(prefix).is_some() {
        return Some(Format::Compressed);
    }
    if is_flax(prefix) {
        return Some(Format::Flax);
    }
    if let Some((0x80, rest)) = prefix.split_first() {
        return Some(if is_legacy(rest) {
            Format::TorchLegacy
        } else {
            Format::Pickle
        });
    }
    // The magic of tar is where a safetensors header may have any text, hence after it.
    if prefix.get(257..262) == Some(b"ustar") {
        return Some(Format::Tar);
    }
    if is_saved_model(prefix) {
        return Some(Format::SavedModel);
    }
    if is_onnx(prefix) {
        return Some(Format::Onnx);
    }
    None
}

/// Beginnings that are certain. Read as the length of a safetensors header, all but the first pass
/// the format's bound of 100,000,000; `PK\3\4` (67,324,752) is a zip for NNx too.
const MAGICS: &[(&[u8], Format)] = &[
    (b"PK\x03\x04", Format::TorchZip),
    (b"PK\x05\x06", Format::EmptyZip),
    // The magic number of the legacy container as protocols 0 and 1 write it.
    (b"L119547037146038801333356L\n.", Format::TorchLegacy),
    (b"GGUF", Format::Gguf),
    (b"\x89HDF\r\n\x1a\n", Format::Hdf5),
    (b"\x93NUMPY", Format::Npy),
    (b"version https://git-lfs", Format::GitLfsPointer),
];

/// Whether a page begins here, in any letter case.
fn is_html(prefix: &[u8]) -> bool {
    let text = prefix.trim_ascii_start();
    [b"<!doctype html".as_slice(), b"<html"].iter().any(|tag| {
        text.get(..tag.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(tag))
    })
}

/// Whether an ONNX model begins here: field 1 of its protocol buffer, the version of the format, and
/// then one of the fields that follow, by their numbers (`onnx/onnx.proto`, `ModelProto`).
fn is_onnx(prefix: &[u8]) -> bool {
    matches!(
        prefix,
        [
            0x08,
            1..=32,
            0x12 | 0x1a | 0x22 | 0x28 | 0x32 | 0x3a | 0x42,
            ..
        ]
    )
}

/// Whether a SavedModel of TensorFlow begins here: field 1 of its protocol buffer, the version 1 of
/// its schema, and field 2, a graph whose first field is a message too
/// (`tensorflow/core/protobuf/saved_model.proto`). In an ONNX model field 2 is a text.
fn is_saved_model(prefix: &[u8]) -> bool {
    let [0x08, 1, 0x12, graph @ ..] = prefix else {
        return false;
    };
    // The length of the graph: a number of up to ten bytes, of which all but the last have the
    // highest bit set.
    let length = graph.iter().take(10).position(|byte| byte & 0x80 == 0);
    length.is_some_and(|last| graph.get(last.saturating_add(1)) == Some(&0x0a))
}

/// Whether a msgpack map of a few entries begins here whose first key is `params`, as
/// `flax.serialization` writes a model.
fn is_flax(prefix: &[u8]) -> bool {
    matches!(prefix, [0x81..=0x8f, 0xa6, rest @ ..] if rest.starts_with(b"params"))
}

/// Whether what follows 0x80 is a protocol, perhaps a frame (protocol 4), and the integer
/// 0x1950a86a20f9469cfc6c, with which the legacy container begins.
fn is_legacy(rest: &[u8]) -> bool {
    const MAGIC: &[u8] = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
    let Some((_protocol, rest)) = rest.split_first() else {
        return false;
    };
    let unframed = match rest.split_first() {
        Some((0x95, framed)) => framed.get(8..).unwrap_or_default(),
        _ => rest,
    };
    unframed.starts_with(MAGIC)
}

impl Format {
    /// Every format, in the order of the declaration.
    pub fn all() -> &'static [Self] {
        &[
            Self::TorchZip,
            Self::SafeTensors,
            Self::TorchLegacy,
            Self::Pickle,
            Self::Tar,
            Self::TorchScript,
            Self::ShardedSafeTensors,
            Self::ShardedTorch,
            Self::TorchDcp,
            Self::DcpSafeTensors,
            Self::RankPickles,
            Self::DeepSpeedZero,
            Self::DeepSpeedUniversal,
            Self::EmptyZip,
            Self::Gguf,
            Self::Hdf5,
            Self::Npy,
            Self::Onnx,
            Self::SavedModel,
            Self::Flax,
            Self::Compressed,
            Self::GitLfsPointer,
            Self::Html,
        ]
    }

    /// Whether several processes wrote it, each a part.
    pub fn is_distributed(self) -> bool {
        matches!(
            self,
            Self::TorchDcp
                | Self::DcpSafeTensors
                | Self::RankPickles
                | Self::DeepSpeedZero
                | Self::DeepSpeedUniversal
        )
    }

    /// The format's name in `snake_case`, for scripts and for `nnx --json`.
    pub fn name(self) -> &'static str {
        match self {
            Self::TorchZip => "torch_zip",
            Self::SafeTensors => "safetensors",
            Self::TorchLegacy => "torch_legacy",
            Self::Pickle => "pickle",
            Self::Tar => "torch_tar",
            Self::TorchScript => "torchscript",
            Self::ShardedSafeTensors => "sharded_safetensors",
            Self::ShardedTorch => "sharded_torch",
            Self::TorchDcp => "torch_dcp",
            Self::DcpSafeTensors => "dcp_safetensors",
            Self::RankPickles => "rank_pickles",
            Self::DeepSpeedZero => "deepspeed_zero",
            Self::DeepSpeedUniversal => "deepspeed_universal",
            Self::EmptyZip => "empty_zip",
            Self::Gguf => "gguf",
            Self::Hdf5 => "hdf5",
            Self::Npy => "npy",
            Self::Onnx => "onnx",
            Self::SavedModel => "saved_model",
            Self::Flax => "flax",
            Self::Compressed => "compressed",
            Self::GitLfsPointer => "git_lfs_pointer",
            Self::Html => "html",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TorchZip => "a zip archive",
            Self::SafeTensors => "a safetensors file",
            Self::TorchLegacy => "a legacy torch.save file",
            Self::Pickle => "a pickle that torch.save did not write",
            Self::Tar => "a tar archive",
            Self::TorchScript => "a TorchScript archive",
            Self::ShardedSafeTensors => "a sharded safetensors checkpoint",
            Self::ShardedTorch => "a sharded PyTorch checkpoint",
            Self::TorchDcp => "a distributed checkpoint of PyTorch",
            Self::DcpSafeTensors => "a distributed checkpoint of PyTorch in safetensors files",
            Self::RankPickles => "a PyTorch file for each process",
            Self::DeepSpeedZero => "a ZeRO checkpoint of DeepSpeed",
            Self::DeepSpeedUniversal => "a universal checkpoint of DeepSpeed",
            Self::EmptyZip => "a zip archive without entries",
            Self::Gguf => "a GGUF model",
            Self::Hdf5 => "an HDF5 file",
            Self::Npy => "a NumPy array",
            Self::Onnx => "an ONNX model",
            Self::SavedModel => "a TensorFlow SavedModel",
            Self::Flax => "a Flax msgpack file",
            Self::Compressed => "a compressed file",
            Self::GitLfsPointer => {
                "a Git LFS pointer instead of the file; `git lfs pull` downloads it"
            }
            Self::Html => "a web page",
        })
    }
}

#[cfg(test)]
mod tests;
