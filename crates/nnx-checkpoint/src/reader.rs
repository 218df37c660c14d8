//! One reader for every kind of checkpoint.

mod alias;
mod arrays;
mod describe;
mod entry;
mod file;
mod folder;
mod index;
mod names;
mod number;
mod part;
mod shards;
mod subtree;
mod survey;
mod value;
mod view;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use indexmap::IndexMap;

pub(crate) use self::alias::is_alias;
pub use self::entry::{OtherEntry, TensorEntry};
use self::file::File;
use self::folder::Files;
pub use self::folder::{index_or_file, shards_of};
use self::part::Part;
pub use self::subtree::{Subtree, load_state_dict};
pub use self::value::PickledValue;
use crate::error::{Error, ErrorKind, Result};
use crate::globals::GlobalRef;
use crate::open::{OpenOptions, looks_like_an_index};
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
    /// Where the tensor of a name stands; none for the names of other values.
    by_name: HashMap<Arc<str>, Option<usize>>,
    others: Vec<OtherEntry>,
    globals: Vec<GlobalRef>,
    metadata: IndexMap<String, String>,
    object: Option<Arc<TorchObject>>,
    notes: Vec<String>,
    /// How many storages all files hold.
    storages: usize,
    parts: Vec<Arc<Part>>,
    /// The files that were opened, each with its bytes.
    files: Vec<(PathBuf, Bytes)>,
}

impl CheckpointReader {
    /// Opens a file or a folder under the default [`OpenOptions`].
    ///
    /// # Errors
    /// As for [`open_with`](Self::open_with).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Opens a file or a folder: of a folder, the weights of a standard name, such as
    /// `model.safetensors` or `pytorch_model.bin`, or the files that their index names; where it has
    /// neither, the one variant that is there (`model.fp16.safetensors`), or all of the files whose
    /// names count them (`model-00001-of-00002.safetensors`). An index itself may be given as well.
    ///
    /// # Errors
    /// - [`ErrorKind::NotFound`], [`ErrorKind::Io`] when the path cannot be read.
    /// - [`ErrorKind::Empty`], [`ErrorKind::NotACheckpoint`] when it is something else; the error
    ///   says what, and what to do.
    /// - [`ErrorKind::UnsafeGlobal`] when a pickle names what [`SafetyLevel::Dangerous`] stands for,
    ///   unless [`OpenOptions::allow_dangerous_globals`] is set, or the name is of `getattr` or
    ///   `functools.partial` and what they are given is not dangerous.
    /// - [`ErrorKind::NameCollision`] when two values would get one name.
    /// - [`ErrorKind::MissingShard`], [`ErrorKind::PathTraversal`] when the index names a file that
    ///   is not there, or not in its folder.
    /// - [`ErrorKind::LimitExceeded`] when one of the [`Limits`](crate::Limits) is reached.
    /// - [`ErrorKind::Malformed`], [`ErrorKind::Unsupported`] when the file contradicts its format,
    ///   or holds a tensor that is not understood.
    ///
    /// [`SafetyLevel::Dangerous`]: crate::SafetyLevel::Dangerous
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        if path.is_dir() {
            let weights = folder::weights(path).map_err(|error| error.in_path(path))?;
            let mut reader = match &weights.files {
                Files::One(file) => Self::open_file(file, options)?,
                Files::Shards(paths) => {
                    shards::unindexed(paths, options).map_err(|error| error.in_path(path))?
                }
            };
            reader.notes.extend(weights.note);
            return Ok(reader);
        }
        Self::open_file(path, options)
    }

    /// The file that is opened for a path: of a folder, its weights, their index, or the first of
    /// their shards.
    ///
    /// # Errors
    /// When a folder has no weights.
    pub(crate) fn file_of(path: &Path) -> Result<PathBuf> {
        if !path.is_dir() {
            return Ok(path.to_path_buf());
        }
        let weights = folder::weights(path).map_err(|error| error.in_path(path))?;
        Ok(match weights.files {
            Files::One(file) => file,
            Files::Shards(shards) => shards.into_iter().next().unwrap_or_default(),
        })
    }

    fn open_file(path: &Path, options: &OpenOptions) -> Result<Self> {
        if let Some(error) = folder::part_of_distributed(path) {
            return Err(error.in_path(path));
        }
        let source = options.source(path)?;
        let bytes = source.bytes();
        let opened = if is_index(bytes) {
            let folder = path.parent().unwrap_or(Path::new(""));
            shards::sharded(folder, bytes, options)
        } else {
            file::read(bytes, options).map(|file| {
                let mut reader = Self::of_file(file);
                reader.files.push((path.to_path_buf(), bytes.clone()));
                reader
            })
        };
        opened.map_err(|error| error.in_path(path))
    }

    /// Reads the bytes of one file; what is not needed of them yet is shared, not copied.
    ///
    /// # Errors
    /// As for [`open_with`](Self::open_with).
    pub fn from_bytes(bytes: impl Into<Bytes>, options: &OpenOptions) -> Result<Self> {
        file::read(&bytes.into(), options).map(Self::of_file)
    }

    fn of_file(file: File) -> Self {
        let object = file.part.object().cloned();
        Self {
            tensors: file.tensors,
            by_name: file.by_name,
            others: file.others,
            globals: file.globals,
            metadata: file.metadata,
            object,
            notes: file.notes,
            storages: file.storages,
            parts: vec![file.part],
            ..Self::empty(file.format)
        }
    }

    fn empty(format: Format) -> Self {
        Self {
            format,
            tensors: Vec::new(),
            by_name: HashMap::new(),
            others: Vec::new(),
            globals: Vec::new(),
            metadata: IndexMap::new(),
            object: None,
            notes: Vec::new(),
            storages: 0,
            parts: Vec::new(),
            files: Vec::new(),
        }
    }

    /// The files that were opened, each with its bytes; none for bytes that had no file.
    pub(crate) fn files(&self) -> &[(PathBuf, Bytes)] {
        &self.files
    }

    /// The PyTorch files that the tensors come from.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Arc<TorchObject>> {
        self.parts.iter().filter_map(|part| part.object())
    }

    fn note(&mut self, note: String) {
        self.notes.push(note);
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
        self.tensors.get((*self.by_name.get(name)?)?)
    }

    /// The tensor of that name.
    ///
    /// # Errors
    /// When there is no tensor of that name, its layout has no plain bytes (a sparse tensor, or one
    /// on the meta device), it does not lie within its storage, or the storage's bytes do not match
    /// their checksum.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        let missing = || Error::new(ErrorKind::NoSuchTensor).in_tensor(name);
        self.entry(name).ok_or_else(missing)?.tensor()
    }

    /// Every leaf that is no tensor, in the order of the file. A path covers all that is below it.
    pub fn others(&self) -> &[OtherEntry] {
        &self.others
    }

    /// A value of [`others`](Self::others) with its type, as far as it is plain: numbers, texts, and
    /// containers and objects of them. None for anything else, and for the values of a sharded
    /// checkpoint.
    pub fn value(&self, entry: &OtherEntry) -> Option<PickledValue> {
        value::value(self.object.as_ref()?, entry.node()?)
    }

    /// The classes and functions that the file's pickles name, each once for each pickle, in the
    /// order in which they are first named.
    pub fn globals(&self) -> &[GlobalRef] {
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

/// Whether the file is an index: JSON, and not a safetensors file, whose first eight bytes are a
/// number.
fn is_index(bytes: &[u8]) -> bool {
    bytes
        .first_chunk()
        .is_none_or(|length| u64::from_le_bytes(*length) > bytes.len() as u64)
        && looks_like_an_index(bytes)
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

#[cfg(test)]
mod tests;
