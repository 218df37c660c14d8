//! One reader for every kind of checkpoint.

mod alias;
mod arrays;
mod children;
mod describe;
mod entry;
mod file;
mod folder;
mod index;
mod names;
pub(crate) mod nn_checkpoint;
mod number;
mod open_file;
mod reachability;
mod shards;
mod subtree;
mod table;
mod value;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use indexmap::IndexMap;

pub(crate) use self::alias::is_alias;
pub use self::entry::{NonTensorEntry, TensorEntry};
use self::folder::Files;
pub use self::folder::{index_or_file, shards_of};
pub use self::subtree::{Subtree, load_state_dict};
pub use self::value::PickledValue;
use crate::distributed::{self, Recognized, SHARDING_INFO};
use crate::error::{Error, ErrorKind, Result};
use crate::globals::GlobalRef;
use crate::name_index::NameIndex;
use crate::open::{OpenOptions, looks_like_an_index};
use crate::source::{ByteRange, Folder, RangeRead};
use crate::torch::TorchObject;
use crate::{Format, Tensor};

/// A checkpoint that is open, whatever its format: its tensors by name, and all else that it holds.
///
/// Opening reads headers and pickles; a tensor's bytes are touched when it is asked for.
/// The format is detected from the file's contents, never from its name.
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
    /// The numbers of the tensors by their names. Other values have numbers that no tensor has.
    names: NameIndex,
    non_tensors: Vec<NonTensorEntry>,
    globals: Vec<GlobalRef>,
    metadata: IndexMap<String, String>,
    object: Option<Arc<TorchObject>>,
    notes: Vec<String>,
    /// How many storages all files hold.
    storages: usize,
    /// How many files were opened.
    files: usize,
    /// Whether a safetensors file has pieces of larger tensors.
    has_pieces: bool,
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
    /// The folder of a checkpoint that several processes wrote, or any file of it, gives the whole
    /// tensors: `torch.distributed.checkpoint`, ZeRO, and a file of `torch.save` for each rank.
    ///
    /// # Errors
    /// - [`ErrorKind::Distributed`] when such a checkpoint is not whole, contradicts itself, or
    ///   cannot be joined.
    /// - [`ErrorKind::NotFound`], [`ErrorKind::Io`] when the path cannot be read.
    /// - [`ErrorKind::Empty`], [`ErrorKind::NotACheckpoint`] when it is something else; the error
    ///   says what, and what to do.
    /// - [`ErrorKind::UnsafeGlobal`] when a pickle names a [dangerous](crate::SafetyLevel::Dangerous) global,
    ///   unless [`OpenOptions::allow_dangerous_globals`] is set, or the name is of `getattr` or
    ///   `functools.partial` and what they are given is not dangerous.
    /// - [`ErrorKind::NameCollision`] when two values would get one name.
    /// - [`ErrorKind::MissingShard`], [`ErrorKind::PathTraversal`] when the index names a file that
    ///   is not there, or not in its folder.
    /// - [`ErrorKind::LimitExceeded`] when one of the [`Limits`](crate::Limits) is reached.
    /// - [`ErrorKind::Malformed`], [`ErrorKind::Unsupported`] when the file contradicts its format,
    ///   or holds a tensor that is not understood.
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let (reader, _) = Self::open_located(path.as_ref(), options)?;
        Ok(reader)
    }

    /// Opens a file in a folder, wherever that is, or without a name the folder itself: as
    /// [`open_with`](Self::open_with) does it for paths on the disk.
    ///
    /// # Errors
    /// As for [`open_with`](Self::open_with), and those of the folder.
    pub fn open_in(folder: &dyn Folder, name: Option<&str>, options: &OpenOptions) -> Result<Self> {
        let (reader, _) = Self::open_named(folder, name, options)?;
        Ok(reader)
    }

    /// [`open_in`](Self::open_in), and the name of the file that was opened: of a folder, its
    /// weights, their index, or the first of their shards.
    ///
    /// # Errors
    /// As for [`open_in`](Self::open_in).
    pub(crate) fn open_named(
        folder: &dyn Folder,
        name: Option<&str>,
        options: &OpenOptions,
    ) -> Result<(Self, String)> {
        let (reader, file) = Self::open_files(folder, name, options)?;
        if reader.has_pieces {
            return Err(folder::not_joined_here(&file).in_path(&folder.path(&file)));
        }
        Ok((reader, file))
    }

    /// [`open_named`](Self::open_named), with the pieces of tensors as they are.
    fn open_files(
        folder: &dyn Folder,
        name: Option<&str>,
        options: &OpenOptions,
    ) -> Result<(Self, String)> {
        let open = |name: &str| -> Result<Self> {
            folder::refuse_distributed(&[name])?;
            Self::open_bytes(&folder.open(name)?, folder, options)
        };
        if let Some(name) = name {
            let reader = open(name).map_err(|error| error.in_path(&folder.path(name)))?;
            return Ok((reader, name.to_owned()));
        }
        let weights = folder::weights(folder).map_err(|error| error.in_path(&folder.path("")))?;
        let (mut reader, file) = match weights.files {
            Files::One(name) => {
                let reader = open(&name).map_err(|error| error.in_path(&folder.path(&name)))?;
                (reader, name)
            }
            Files::Shards(names) => {
                let reader = shards::unindexed(folder, &names, options);
                let first = names.into_iter().next().unwrap_or_default();
                (
                    reader.map_err(|error| error.in_path(&folder.path("")))?,
                    first,
                )
            }
        };
        reader.notes.extend(weights.note);
        Ok((reader, file))
    }

    /// [`open_with`](Self::open_with), and the file that was opened, as for
    /// [`open_named`](Self::open_named).
    ///
    /// # Errors
    /// As for [`open_with`](Self::open_with).
    pub(crate) fn open_located(path: &Path, options: &OpenOptions) -> Result<(Self, PathBuf)> {
        if path.is_dir() {
            let has_weights = folder::has_weights(path);
            if let Some(recognized) = Recognized::in_folder(path, has_weights, options)? {
                let reader = Self::open_distributed(&recognized, options)?;
                return Ok((reader, recognized.folder));
            }
            let (reader, name) = Self::open_files(&options.folder(path), None, options)?;
            return reader.joined(path.join(name), options);
        }
        if path.is_file()
            && let Some(recognized) = Recognized::of_file(path)
        {
            let reader = Self::open_distributed(&recognized, options)?;
            return Ok((reader, recognized.folder));
        }
        // The name of a file need not be Unicode, as names in a folder are.
        let open = || {
            let folder = options.folder(path.parent().unwrap_or(Path::new("")));
            Self::open_bytes(&options.source(path)?.into(), &folder, options)
        };
        let reader = open().map_err(|error| error.in_path(path))?;
        reader.joined(path.to_path_buf(), options)
    }

    /// What was opened at a path, or where its tensors are pieces of larger ones those, of all files
    /// beside it.
    fn joined(self, path: PathBuf, options: &OpenOptions) -> Result<(Self, PathBuf)> {
        let is_single = self.format == Format::SafeTensors;
        let has_pieces = self.has_pieces || is_single && self.metadata.contains_key(SHARDING_INFO);
        let recognized = if has_pieces {
            Some(Recognized::of_safetensors(&path))
        } else {
            Recognized::of_pieces(&path).filter(|_| distributed::has_pieces(&self.globals))
        };
        match recognized {
            None => Ok((self, path)),
            Some(recognized) => {
                let reader = Self::open_distributed(&recognized, options)?;
                Ok((reader, recognized.folder))
            }
        }
    }

    fn open_distributed(recognized: &Recognized, options: &OpenOptions) -> Result<Self> {
        let folder = &recognized.folder;
        let opened = distributed::open(folder, &recognized.kind, options);
        let mut reader = opened
            .and_then(|opened| file::torch(opened, options))
            .map_err(|error| error.in_path(folder))?;
        reader.notes.extend(recognized.note.clone());
        Ok(reader)
    }

    /// Opens the bytes of a file in a folder, which may be the index of others there.
    fn open_bytes(bytes: &ByteRange, folder: &dyn Folder, options: &OpenOptions) -> Result<Self> {
        if is_index(bytes)? {
            return shards::sharded(folder, bytes, options);
        }
        file::read(bytes, options)
    }

    /// Reads the bytes of one file; bytes that are not needed yet are shared, not copied.
    ///
    /// # Errors
    /// As for [`open_with`](Self::open_with).
    pub fn from_bytes(bytes: impl Into<Bytes>, options: &OpenOptions) -> Result<Self> {
        file::read(&bytes.into().into(), options)
    }

    /// Opens one file that is read by range, wherever it is: opening reads headers and pickles, and
    /// a tensor's range is read when the tensor is asked for.
    ///
    /// # Errors
    /// As for [`open_with`](Self::open_with), and those of the source.
    pub fn from_range(source: impl RangeRead + 'static, options: &OpenOptions) -> Result<Self> {
        Self::from_byte_range(&ByteRange::new(Arc::new(source)), options)
    }

    /// Opens one file that a range is of.
    ///
    /// # Errors
    /// As for [`from_range`](Self::from_range).
    pub(crate) fn from_byte_range(bytes: &ByteRange, options: &OpenOptions) -> Result<Self> {
        file::read(bytes, options)
    }

    fn empty(format: Format) -> Self {
        Self {
            format,
            tensors: Vec::new(),
            names: NameIndex::default(),
            non_tensors: Vec::new(),
            globals: Vec::new(),
            metadata: IndexMap::new(),
            object: None,
            notes: Vec::new(),
            storages: 0,
            files: 0,
            has_pieces: false,
        }
    }

    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// The format of the file; of a folder, that of its weights.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Every tensor, in the order of the file.
    pub fn tensors(&self) -> &[TensorEntry] {
        &self.tensors
    }

    /// The entry of the tensor of that name.
    pub fn entry(&self, name: &str) -> Option<&TensorEntry> {
        let is_name = |number| {
            self.numbered(number)
                .is_some_and(|entry| entry.name() == name)
        };
        self.numbered(self.names.find(name, is_name)?)
    }

    fn numbered(&self, number: u32) -> Option<&TensorEntry> {
        self.tensors.get(usize::try_from(number).ok()?)
    }

    /// Adds a tensor behind the others.
    ///
    /// # Errors
    /// When another one has its name.
    fn push_tensor(&mut self, entry: TensorEntry) -> Result<()> {
        let number = u32::try_from(self.tensors.len()).unwrap_or(u32::MAX);
        let tensors = &self.tensors;
        let is_name = |other| {
            let other = usize::try_from(other).ok().and_then(|at| tensors.get(at));
            other.is_some_and(|other: &TensorEntry| other.name() == entry.name())
        };
        if self.names.insert(entry.name(), number, is_name).is_err() {
            let name = entry.name().to_owned();
            return Err(Error::new(ErrorKind::NameCollision { name }));
        }
        self.tensors.push(entry);
        Ok(())
    }

    /// Gives the names of the tensors the numbers of their places. The names differ.
    fn index_tensors(&mut self) {
        let mut names = NameIndex::with_capacity(self.tensors.len());
        for (number, entry) in (0..).zip(&self.tensors) {
            let _ = names.insert(entry.name(), number, |_| false);
        }
        self.names = names;
    }

    /// The tensor of that name, whose bytes were read and compared with their checksum.
    ///
    /// # Errors
    /// When there is no tensor of that name, its layout has no plain bytes (a sparse tensor, or one
    /// on the meta device), it is not within its storage, or the storage's bytes cannot be read
    /// or do not match their checksum.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        let tensor = self.unread_tensor(name)?;
        match tensor.storage().bytes() {
            Ok(_) => Ok(tensor),
            Err(error) => Err(error.in_tensor(name)),
        }
    }

    /// The tensor of that name, whose bytes are read when they are asked for: the tensor tells then
    /// if they are not what the file states.
    ///
    /// # Errors
    /// As for [`tensor`](Self::tensor), except for errors in the storage's bytes.
    pub fn unread_tensor(&self, name: &str) -> Result<Tensor> {
        let missing = || Error::new(ErrorKind::NoSuchTensor).in_tensor(name);
        self.entry(name).ok_or_else(missing)?.unread_tensor()
    }

    /// Every leaf that is no tensor, in the order of the file. A path covers all that is below it.
    pub fn non_tensors(&self) -> &[NonTensorEntry] {
        &self.non_tensors
    }

    /// A value of [`non_tensors`](Self::non_tensors) with its type, as far as it is plain: numbers, texts, and
    /// containers and objects of them. None for anything else, and for the values of a sharded
    /// checkpoint.
    pub fn value(&self, entry: &NonTensorEntry) -> Option<PickledValue> {
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

    /// Notes for the user although the file could be read, such as bytes that follow its end.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// Whether the file is an index: JSON, and not a safetensors file, whose first eight bytes are a
/// number.
fn is_index(bytes: &ByteRange) -> Result<bool> {
    let start = bytes.read_up_to(0, 8)?;
    let length = start.first_chunk().copied().map(u64::from_le_bytes);
    if length.is_some_and(|length| length <= bytes.byte_len()) {
        return Ok(false);
    }
    looks_like_an_index(bytes)
}

impl fmt::Debug for CheckpointReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckpointReader")
            .field("format", &self.format)
            .field("tensors", &self.tensors.len())
            .field("non_tensors", &self.non_tensors.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
