//! `NNCheckpoint`, the checkpoint of the library NNx.

mod allowed;
mod classes;
mod dataclass_state;
mod decode;
mod encode;
mod metadata;
mod numpy;
mod plain;
mod state_dict;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use indexmap::IndexMap;
use nnx_params::{NNCheckpointTransform, NNIterationDataPoint, NNModelParams, NetParams};

use self::dataclass_state::UnknownFields;
use crate::error::{Error, Result};
use crate::open::{Opened, open};
use crate::save::save_atomic;
use crate::source::ByteRange;
use crate::torch::TorchObject;
use crate::{CheckpointReader, Format, Limits, OpenOptions, StateDict, Tensor};

/// A model's weights with everything needed to rebuild the model, and where in its training it was
/// taken.
///
/// ```no_run
/// use nnx_checkpoint::{CheckpointFormat, NNCheckpoint};
///
/// # fn main() -> nnx_checkpoint::Result<()> {
/// let checkpoint = NNCheckpoint::from_file("runs/…/checkpoints/best.pt")?;
/// for (name, tensor) in checkpoint.net_state.tensors() {
///     println!("{name}: {} {:?}", tensor.dtype(), tensor.shape());
/// }
/// checkpoint.to_file("best.safetensors", CheckpointFormat::SafeTensors)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NNCheckpoint {
    /// The net's parameters; none for a registered or runtime module.
    pub net_params: Option<NetParams>,
    /// The net's weights.
    pub net_state: StateDict,
    /// The kind of net, device, loss and precision.
    pub model_params: NNModelParams,
    /// The point of training at which the checkpoint was taken.
    pub idp: NNIterationDataPoint,
    /// Changes to the net's layers that must be replayed before the weights fit.
    pub transforms: Vec<NNCheckpointTransform>,
    /// The id of the training state that belongs to the checkpoint.
    pub training_state_id: Option<String>,
    /// Whether there is such a state; none when the writer did not say.
    pub training_state_present: Option<bool>,
    /// Texts in a safetensors file's metadata that are not NNx's own; written back to that form.
    pub extra_metadata: IndexMap<String, String>,
    /// The values that a newer version of NNx stored beyond the fields known here; written back to pickles.
    unknown_fields: UnknownFields,
}

/// The two forms of a checkpoint file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CheckpointFormat {
    /// A pickle in torch's zip container, NNx's default.
    #[default]
    Pickle,
    /// A safetensors file with the configuration as metadata.
    SafeTensors,
}

impl CheckpointFormat {
    /// NNx's name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pickle => "pickle",
            Self::SafeTensors => "safetensors",
        }
    }
}

impl FromStr for CheckpointFormat {
    type Err = Error;

    /// # Errors
    /// For anything but NNx's two names.
    fn from_str(name: &str) -> Result<Self> {
        [Self::Pickle, Self::SafeTensors]
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| {
                Error::unsupported(format!(
                    "a checkpoint's format is `pickle` or `safetensors`, got `{name}`"
                ))
            })
    }
}

impl NNCheckpoint {
    /// The records' folder in the torch files that NNx writes.
    pub(crate) const ARCHIVE_ROOT: &str = "archive";

    /// A checkpoint without transforms and without a word on training state.
    pub fn new(
        net_params: Option<NetParams>,
        net_state: StateDict,
        model_params: NNModelParams,
        idp: NNIterationDataPoint,
    ) -> Self {
        Self {
            net_params,
            net_state,
            model_params,
            idp,
            transforms: Vec::new(),
            training_state_id: None,
            training_state_present: None,
            extra_metadata: IndexMap::new(),
            unknown_fields: UnknownFields::new(),
        }
    }

    /// Reads a checkpoint file of either form, mapped into memory, under the default [`OpenOptions`].
    /// Nothing in it is executed: a pickle that names any class but NNx's own is refused.
    ///
    /// Tensors of a safetensors file come in the order of their names, as the reference gives them.
    /// While a tensor that is in the map is alive, the file must not be shortened by another
    /// process (see [`Source::open`](crate::Source::open)); [`from_file_with`](Self::from_file_with) can read it instead.
    ///
    /// # Errors
    /// - [`ErrorKind::NotFound`], [`ErrorKind::Empty`] and [`ErrorKind::NotNNCheckpoint`] where
    ///   Python's `NNCheckpoint.from_file` returns `None`.
    /// - [`ErrorKind::UnsafeGlobal`] when a pickle names a class or function that NNx does not
    ///   write.
    /// - [`ErrorKind::InvalidConfiguration`] when a configuration is not valid. (Python checks those of safetensors
    ///   files only.)
    /// - Another kind when the file cannot be read or contradicts its format.
    ///
    /// [`ErrorKind::NotFound`]: crate::ErrorKind::NotFound
    /// [`ErrorKind::Empty`]: crate::ErrorKind::Empty
    /// [`ErrorKind::NotNNCheckpoint`]: crate::ErrorKind::NotNNCheckpoint
    /// [`ErrorKind::UnsafeGlobal`]: crate::ErrorKind::UnsafeGlobal
    /// [`ErrorKind::InvalidConfiguration`]: crate::ErrorKind::InvalidConfiguration
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_file_with(path, &OpenOptions::default())
    }

    /// [`from_file`](Self::from_file) with options of your own. No option changes which classes and
    /// functions an NNCheckpoint may name.
    ///
    /// # Errors
    /// As for [`from_file`](Self::from_file).
    pub fn from_file_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        refuse_bundles(path)
            .and_then(|()| options.source(path))
            .and_then(|source| Self::from_bytes_with(source, options))
            .map_err(|error| error.in_path(path))
    }

    /// Reads the bytes of a checkpoint file. Tensors share them where they can.
    ///
    /// # Errors
    /// As for [`from_file`](Self::from_file).
    pub fn from_bytes(bytes: impl Into<ByteRange>) -> Result<Self> {
        Self::from_bytes_with(bytes, &OpenOptions::default())
    }

    /// [`from_bytes`](Self::from_bytes) with options of your own.
    ///
    /// # Errors
    /// As for [`from_file`](Self::from_file).
    pub fn from_bytes_with(bytes: impl Into<ByteRange>, options: &OpenOptions) -> Result<Self> {
        // The table of names for an NNCheckpoint is stricter than that for other files.
        let options = options.allow_dangerous_globals(true);
        let checkpoint = match open(&bytes.into(), &options)? {
            // Neither is read by `torch.load` in NNx, which raises there.
            Opened::Torch(opened) if matches!(opened.format, Format::Pickle | Format::Tar) => {
                Err(Error::unsupported(format!(
                    "expected a zip or legacy file of `torch.save`, found {}",
                    opened.format
                )))
            }
            Opened::Torch(opened) => decode::checkpoint(&Arc::new(opened.object), &options.limits),
            Opened::SafeTensors(file) => {
                let tensors = file.tensors();
                let tensors = tensors
                    .map(|(name, tensor)| (name, tensor.clone()))
                    .collect();
                metadata::checkpoint(file.metadata(), tensors)
            }
        }?;
        for (name, tensor) in checkpoint.net_state.tensors() {
            let read = tensor.storage().bytes();
            read.map_err(|error| error.in_tensor(name))?;
        }
        Ok(checkpoint)
    }

    /// Whether an open file claims to be a checkpoint of NNx, of either form.
    pub(crate) fn is_one(reader: &CheckpointReader) -> bool {
        match reader.object() {
            Some(object) => decode::is_checkpoint(object),
            None => metadata::is_checkpoint(reader.metadata()),
        }
    }

    /// Whether a metadata key is one of those that a checkpoint's configuration is under.
    pub(crate) fn is_own_key(key: &str) -> bool {
        metadata::is_own_key(key)
    }

    /// The checkpoint that an open file is, or several with an index are. Its tensors are read when
    /// their bytes are asked for.
    ///
    /// # Errors
    /// When the file is no checkpoint of NNx, or not a valid one.
    pub fn from_reader(reader: &CheckpointReader, limits: &Limits) -> Result<Self> {
        if let Some(object) = reader.object() {
            return decode::checkpoint(object, limits);
        }
        let tensors = reader.tensors().iter();
        let tensors = tensors.map(|entry| Ok((entry.name(), entry.unread_tensor()?)));
        metadata::checkpoint(reader.metadata(), tensors.collect::<Result<_>>()?)
    }

    /// The object graph of the pickle form.
    pub(crate) fn torch_object(&self) -> Result<TorchObject> {
        encode::object(self)
    }

    /// Tensors and metadata of the safetensors form.
    #[expect(
        clippy::type_complexity,
        reason = "the two arguments of the safetensors writer"
    )]
    pub(crate) fn safetensors_parts(
        &self,
    ) -> Result<(Vec<(&str, &Tensor)>, IndexMap<String, String>)> {
        metadata::parts(self)
    }

    /// The same checkpoint, whose safetensors form says `format: pt` beside NNx's own metadata, unless
    /// it says another format. The loaders of accelerate and of transformers 4 refuse metadata
    /// without it; NNx ignores it. A pickle has no place for it and does not change.
    ///
    /// ```no_run
    /// # fn main() -> nnx_checkpoint::Result<()> {
    /// use nnx_checkpoint::{CheckpointFormat, NNCheckpoint};
    ///
    /// let checkpoint = NNCheckpoint::from_file("best.pt")?.with_format_metadata();
    /// checkpoint.to_file("best.safetensors", CheckpointFormat::SafeTensors)?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_format_metadata(mut self) -> Self {
        self.extra_metadata
            .entry("format".to_owned())
            .or_insert_with(|| "pt".to_owned());
        self
    }

    /// Writes a checkpoint file, atomically; missing parent folders are made.
    ///
    /// A pickle has the bytes that NNx 0.4.1 would write for the same objects, as long as no two
    /// fields were one Python object but a class, a constant text or a storage. A safetensors file
    /// is the same at every call (the reference's metadata keys come in random order).
    ///
    /// # Errors
    /// When the form cannot hold the checkpoint (safetensors: values that are no tensors, a dtype
    /// that it lacks, a module that exists only at run time), or writing fails. The target is
    /// unchanged then.
    pub fn to_file(&self, path: impl AsRef<Path>, format: CheckpointFormat) -> Result<()> {
        let path = path.as_ref();
        // Errors of writing are found before a folder is made.
        self.encoded(format)
            .and_then(|encoded| save_atomic(path, |out| encoded.write_to(out)))
            .map_err(|error| error.in_path(path))
    }

    /// Writes the encoded checkpoint to `out`, for callers that process the stream, for example to
    /// hash it. Prefer [`to_file`](Self::to_file), which replaces the target atomically.
    ///
    /// # Errors
    /// As for [`to_file`](Self::to_file). Where the form cannot hold the checkpoint, nothing has
    /// been written.
    pub fn write_to(&self, out: &mut dyn Write, format: CheckpointFormat) -> Result<()> {
        self.encoded(format)?.write_to(out)
    }

    fn encoded(&self, format: CheckpointFormat) -> Result<EncodedCheckpoint<'_>> {
        Ok(match format {
            CheckpointFormat::Pickle => EncodedCheckpoint::Pickle(encode::object(self)?),
            CheckpointFormat::SafeTensors => {
                let (tensors, metadata) = metadata::parts(self)?;
                EncodedCheckpoint::SafeTensors(tensors, metadata)
            }
        })
    }
}

/// A checkpoint that its form can hold.
enum EncodedCheckpoint<'a> {
    Pickle(TorchObject),
    SafeTensors(Vec<(&'a str, &'a Tensor)>, IndexMap<String, String>),
}

impl EncodedCheckpoint<'_> {
    fn write_to(&self, out: &mut dyn Write) -> Result<()> {
        match self {
            Self::Pickle(object) => object.write_to(out, NNCheckpoint::ARCHIVE_ROOT),
            Self::SafeTensors(tensors, metadata) => {
                crate::safetensors::write(out, tensors, Some(metadata))
            }
        }
    }
}

/// Refuses a path that is part of an NNx bundle, as NNx 0.4.1 does: a bundle's files are read
/// together or not at all.
fn refuse_bundles(path: &Path) -> Result<()> {
    const INDEX: &str = "bundle.json";
    let is_bundle = |dir: &Path| dir.join(INDEX).is_file();
    let parent = path.parent().unwrap_or(Path::new(""));
    let is_generation = parent
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("g-"));
    let refused = if fs::metadata(path).is_ok_and(|metadata| metadata.is_dir()) {
        is_bundle(path)
    } else {
        is_bundle(parent) || is_generation && parent.parent().is_some_and(is_bundle)
    };
    if refused {
        return Err(Error::unsupported(
            "part of an NNx bundle, which is read as a whole; give a checkpoint file instead",
        ));
    }
    Ok(())
}
