//! Files that people take for a checkpoint, and what to do with them instead.

use crate::error::{Error, ErrorKind};
use crate::sniff::{Format, compression};

/// Zero bytes at the beginning that no file of weights has: eight of them may be the length of a
/// safetensors header that is wrong.
const MIN_ZEROS: usize = 16;
/// The first bytes of a file, by which it is judged: there may be a disk full of zeros.
pub(crate) const HEAD_BYTES: u64 = 1 << 20;

/// The error of a file that is something else. `bytes` are those of the file, or its first ones.
#[cold]
pub(crate) fn error(format: Format, bytes: &[u8]) -> Error {
    let hint = match format {
        Format::EmptyZip => "nothing is in it; fetch the file again",
        Format::Gguf => "llama.cpp reads it; look for the model's safetensors files instead",
        Format::Hdf5 => "export its weights from Keras or h5py as a safetensors file",
        Format::Npy => "load it with `numpy.load`, and save its array as a safetensors file",
        Format::Onnx => {
            "an ONNX runtime runs it; look for the model's PyTorch or safetensors file instead"
        }
        Format::SavedModel => {
            "load it with TensorFlow or Keras, and save its variables as a safetensors file"
        }
        Format::Flax => {
            "load it with `flax.serialization`, and save its arrays as a safetensors file"
        }
        Format::Compressed => "decompress it first",
        Format::GitLfsPointer => "it stands for a file that `git lfs pull` downloads",
        Format::Html => DOWNLOAD,
        _ => "it must be opened in another way",
    };
    not_a_checkpoint(
        match format {
            Format::GitLfsPointer => "a Git LFS pointer".to_owned(),
            Format::Compressed => match compression(bytes) {
                Some(name) => format!("a compressed file ({name})"),
                None => format.to_string(),
            },
            other => other.to_string(),
        },
        hint,
    )
}

const DOWNLOAD: &str =
    "a download gave an error message or a login page instead of the file; fetch it again";

/// The error of a file that its first bytes tell to be of a kind that has nothing to do with models,
/// or of one that a download has left without its beginning. The file has `byte_len` bytes, of which
/// `head` are the first ones.
#[cold]
pub(crate) fn otherwise(head: &[u8], byte_len: u64) -> Option<Error> {
    let zeros = head.iter().take_while(|&&byte| byte == 0).count();
    let what = if zeros < MIN_ZEROS {
        None
    } else if zeros as u64 == byte_len {
        Some(format!("a file of nothing but {zeros} zero bytes"))
    } else if zeros == head.len() {
        Some(format!(
            "a file that begins with {zeros} zero bytes and more"
        ))
    } else {
        Some(format!("a file that begins with {zeros} zero bytes"))
    };
    if let Some(what) = what {
        let hint = "a download that broke off looks like this; fetch it again";
        return Some(not_a_checkpoint(what, hint));
    }
    let (_, what, hint) = OTHERS.iter().find(|(magic, ..)| head.starts_with(magic))?;
    Some(not_a_checkpoint((*what).to_owned(), hint))
}

/// Kinds of files by their first bytes, with what to do. As the length of a safetensors header, each
/// beginning would pass that format's bound.
const OTHERS: &[(&[u8], &str, &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "a PNG image", ANOTHER),
    (b"\xff\xd8\xff\xe0", "a JPEG image", ANOTHER),
    (b"\xff\xd8\xff\xe1", "a JPEG image", ANOTHER),
    (b"\xff\xd8\xff\xdb", "a JPEG image", ANOTHER),
    (b"GIF8", "a GIF image", ANOTHER),
    (b"RIFF", "a RIFF file: an image, a sound or a film", ANOTHER),
    (b"%PDF-", "a PDF document", ANOTHER),
    (b"\x7fELF", "an ELF program or library", ANOTHER),
    (
        b"\xcf\xfa\xed\xfe",
        "a program or library of macOS",
        ANOTHER,
    ),
    (b"SQLite format 3\0", "an SQLite database", ANOTHER),
    (b"PAR1", "a Parquet table", ANOTHER),
    (b"ARROW1", "an Arrow table", ANOTHER),
    (
        b"lmgg",
        "a GGML model",
        "llama.cpp converts it; look for the model's safetensors files instead",
    ),
    (
        b"tjgg",
        "a GGML model",
        "llama.cpp converts it; look for the model's safetensors files instead",
    ),
    (b"<?xml", "an XML document", DOWNLOAD),
];

const ANOTHER: &str = "it has the name of another file; fetch the model again";

/// The error of a file of no format that is known here.
#[cold]
pub(crate) fn unknown() -> Error {
    not_a_checkpoint(
        "a file of no known format".to_owned(),
        "PyTorch's and safetensors files are read; if it should be one, fetch it again",
    )
}

/// The error of a folder without weights.
#[cold]
pub(crate) fn folder() -> Error {
    not_a_checkpoint(
        "a folder without weights of a standard name".to_owned(),
        "open the file itself, or name it `model.safetensors` or `pytorch_model.bin`",
    )
}

/// The error of a folder of another kind.
#[cold]
pub(crate) fn folder_of(what: &str, hint: &str) -> Error {
    not_a_checkpoint(what.to_owned(), hint)
}

/// The error of an index without its folder.
#[cold]
pub(crate) fn index() -> Error {
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
