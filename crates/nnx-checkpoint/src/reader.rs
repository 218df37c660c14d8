//! One reader for every kind of checkpoint.

mod entry;
mod options;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use indexmap::IndexMap;

pub use self::entry::{OtherEntry, TensorEntry};
pub use self::options::OpenOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::globals::GlobalUse;
use crate::safetensors::SafeTensors;
use crate::source::Source;
use crate::torch::TorchObject;
use crate::{Format, Tensor};

/// A checkpoint that is open, whatever its format: its tensors by name, and all else that it holds.
///
/// Opening reads headers and pickles; a tensor's bytes are touched when it is asked for.
/// What a file is, its bytes decide, never its name.
///
/// ```no_run
/// # fn main() -> nnx_checkpoint::Result<()> {
/// use nnx_checkpoint::CheckpointReader;
///
/// let checkpoint = CheckpointReader::open("model.pt")?;
/// for entry in checkpoint.tensors() {
///     println!("{} {} {:?}", entry.name(), entry.dtype(), entry.shape());
/// }
/// let weight = checkpoint.tensor("fc.weight")?;
/// # let _ = weight;
/// # Ok(())
/// # }
/// ```
pub struct CheckpointReader {
    format: Format,
    tensors: Vec<TensorEntry>,
    by_name: HashMap<String, usize>,
    others: Vec<OtherEntry>,
    globals: Vec<GlobalUse>,
    metadata: IndexMap<String, String>,
    object: Option<Arc<TorchObject>>,
    notes: Vec<String>,
}

impl CheckpointReader {
    /// Opens a file or a folder under the default [`OpenOptions`].
    ///
    /// # Errors
    /// As for [`open_with`](Self::open_with).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Opens a file or a folder.
    ///
    /// # Errors
    /// When the path cannot be read, is no checkpoint, or contradicts its format.
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        let source = if options.memory_map {
            Source::open(path)?
        } else {
            Source::read(path)?
        };
        Self::from_bytes(source.into_bytes(), options).map_err(|error| error.in_path(path))
    }

    /// Reads the bytes of one file; what is not needed of them yet is shared, not copied.
    ///
    /// # Errors
    /// As for [`open_with`](Self::open_with).
    pub fn from_bytes(bytes: impl Into<Bytes>, options: &OpenOptions) -> Result<Self> {
        let file = SafeTensors::parse(&bytes.into(), &options.limits)?;
        let _ = file;
        Err(Error::unsupported("not read yet"))
    }

    /// What the file is; of a folder, what its weights are.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Every tensor, in the order of the file.
    pub fn tensors(&self) -> &[TensorEntry] {
        &self.tensors
    }

    /// The entry of the tensor of that name.
    pub fn entry(&self, name: &str) -> Option<&TensorEntry> {
        self.tensors.get(*self.by_name.get(name)?)
    }

    /// The tensor of that name.
    ///
    /// # Errors
    /// When there is no tensor of that name, its layout has no plain bytes (a sparse tensor, or one
    /// on the meta device), it does not lie within its storage, or the storage's bytes do not match
    /// their checksum.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        let _ = self
            .entry(name)
            .ok_or_else(|| Error::new(ErrorKind::NoSuchTensor).in_tensor(name))?;
        Err(Error::unsupported("not read yet"))
    }

    /// Every leaf that is no tensor, in the order of the file. A path covers all that is below it.
    pub fn others(&self) -> &[OtherEntry] {
        &self.others
    }

    /// The classes and functions that the file's pickles name, each once for each pickle, in the
    /// order in which they are first named.
    pub fn globals(&self) -> &[GlobalUse] {
        &self.globals
    }

    /// The string map of a safetensors file; empty for others.
    pub fn metadata(&self) -> &IndexMap<String, String> {
        &self.metadata
    }

    /// The object graph of one PyTorch file; none for safetensors files and sharded checkpoints.
    pub fn object(&self) -> Option<&Arc<TorchObject>> {
        self.object.as_ref()
    }

    /// What a user should know although the file could be read, such as bytes that follow its end.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl fmt::Debug for CheckpointReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckpointReader")
            .field("format", &self.format)
            .field("tensors", &self.tensors.len())
            .field("others", &self.others.len())
            .finish_non_exhaustive()
    }
}
