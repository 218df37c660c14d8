//! What people take for a checkpoint, and what to do with it instead.

use crate::Format;
use crate::error::{Error, ErrorKind};

/// The error of a file that is something else.
#[cold]
pub(super) fn error(format: Format) -> Error {
    let hint = match format {
        Format::EmptyZip => "nothing is in it; fetch the file again",
        Format::Gguf => "llama.cpp reads it; look for the model's safetensors files instead",
        Format::Hdf5 => "export its weights from Keras or h5py as a safetensors file",
        Format::Npy => "load it with `numpy.load`, and save its array as a safetensors file",
        Format::Onnx => {
            "an ONNX runtime runs it; look for the model's PyTorch or safetensors file instead"
        }
        Format::Flax => {
            "load it with `flax.serialization`, and save its arrays as a safetensors file"
        }
        Format::Compressed => "decompress it first",
        Format::GitLfsPointer => "it stands for a file that `git lfs pull` downloads",
        Format::Html => {
            "a download gave an error message or a login page instead of the file; fetch it again"
        }
        _ => "it must be opened in another way",
    };
    not_a_checkpoint(
        match format {
            Format::GitLfsPointer => "a Git LFS pointer".to_owned(),
            other => other.to_string(),
        },
        hint,
    )
}

/// The error of a file of no format that is known here.
#[cold]
pub(super) fn unknown() -> Error {
    not_a_checkpoint(
        "a file of no known format".to_owned(),
        "PyTorch's and safetensors files are read; if it should be one, fetch it again",
    )
}

/// The error of a folder without weights.
#[cold]
pub(super) fn folder() -> Error {
    not_a_checkpoint(
        "a folder without weights of a standard name".to_owned(),
        "open the file itself, or name it `model.safetensors` or `pytorch_model.bin`",
    )
}

/// The error of an index without its folder.
#[cold]
pub(super) fn index() -> Error {
    not_a_checkpoint(
        "the index of a sharded checkpoint".to_owned(),
        "it names files beside it: open it by its path",
    )
}

fn not_a_checkpoint(what: String, hint: &str) -> Error {
    Error::new(ErrorKind::NotACheckpoint {
        what,
        hint: hint.to_owned(),
    })
}
