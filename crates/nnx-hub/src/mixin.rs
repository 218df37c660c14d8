//! The trait that gives a model `save_pretrained`, `from_pretrained` and `push_to_hub`.

use std::path::Path;

use crate::card::ModelCard;
use crate::error::{BoxError, Error, Result};
use crate::folder::Folder;
use crate::folder_writer::FolderWriter;
use crate::hub::{Hub, SnapshotOptions, Upload};
use crate::options::{LoadOptions, PushOptions, SaveOptions};
use crate::progress::Event;
use crate::repo_id::RepoId;
use crate::staging::Staging;

/// The default commit message of Python's mixin.
const COMMIT_MESSAGE: &str = "Push model using huggingface_hub.";

/// Python's `PyTorchModelHubMixin` for any Rust model. Implement how the model is written into a
/// folder and rebuilt from it, and get [`save_pretrained`](Self::save_pretrained),
/// [`from_pretrained`](Self::from_pretrained) and [`push_to_hub`](Self::push_to_hub).
///
/// A complete example with a candle model that NNx does not know:
///
#[cfg_attr(feature = "candle", doc = "```")]
#[cfg_attr(not(feature = "candle"), doc = "```ignore")]
/// use candle_core::{DType, Device, Tensor};
/// use candle_nn::{Linear, Module, VarBuilder, VarMap};
/// use nnx_hub::{BoxError, Folder, FolderWriter, LoadOptions, ModelHubMixin};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Config { inputs: usize, outputs: usize }
/// struct Model { config: Config, linear: Linear }
///
/// impl Model {
///     fn new(config: Config, vars: VarBuilder<'_>) -> candle_core::Result<Self> {
///         let linear = candle_nn::linear_no_bias(config.inputs, config.outputs, vars.pp("fc"))?;
///         Ok(Self { config, linear })
///     }
/// }
///
/// impl ModelHubMixin for Model {
///     fn write_pretrained(&self, folder: &mut FolderWriter) -> Result<(), BoxError> {
///         folder.config(&self.config)?;
///         Ok(folder.tensors([("fc.weight", self.linear.weight())])?)
///     }
///     fn read_pretrained(folder: &Folder, _: &LoadOptions) -> Result<Self, BoxError> {
///         let tensors = folder.tensors(&Device::Cpu)?;
///         let vars = VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu);
///         Ok(Self::new(folder.config()?, vars)?)
///     }
/// }
///
/// # fn main() -> Result<(), BoxError> {
/// # let folder = tempfile::tempdir()?;
/// # let dir = folder.path().join("model");
/// let (config, weights) = (Config { inputs: 3, outputs: 2 }, VarMap::new());
/// let vars = VarBuilder::from_varmap(&weights, DType::F32, &Device::Cpu);
/// let model = Model::new(config, vars)?;
/// model.save_pretrained(&dir)?;
/// let same = Model::from_pretrained(&dir)?;
/// let input = Tensor::new(&[[1_f32, 2.0, 3.0]], &Device::Cpu)?;
/// let (a, b) = (model.linear.forward(&input)?, same.linear.forward(&input)?);
/// assert_eq!(a.to_vec2::<f32>()?, b.to_vec2::<f32>()?);
/// # assert_eq!(same.config.inputs, 3);
/// # Ok(())
/// # }
/// ```
pub trait ModelHubMixin: Sized {
    /// The names of the options that [`read_pretrained`](Self::read_pretrained) knows in addition
    /// to the fields of [`LoadOptions`]. Other options are an error before anything is read.
    const OPTIONS: &'static [&'static str] = &[];

    /// Writes the files from which the model can be rebuilt: weights, configuration, and others if
    /// it has any.
    ///
    /// # Errors
    /// Any error; `?` converts it.
    fn write_pretrained(&self, folder: &mut FolderWriter) -> Result<(), BoxError>;

    /// Rebuilds the model from a folder.
    ///
    /// # Errors
    /// Any error; `?` converts it. A weight that is absent or has a wrong shape should be an error;
    /// `VarBuilder::from_tensors` of candle checks this.
    fn read_pretrained(folder: &Folder, options: &LoadOptions) -> Result<Self, BoxError>;

    /// The model card of models of this kind.
    fn model_card(&self) -> ModelCard {
        ModelCard::default()
    }

    /// The text of `README.md`.
    fn generate_model_card(&self) -> String {
        self.model_card().to_string()
    }

    /// Saves the model in a folder: `model.safetensors`, `config.json`, other files of the model,
    /// and `README.md` if there is none.
    ///
    /// # Errors
    /// An error of the model or of the disk. The folder is unchanged, unless the last step failed,
    /// which renames the files one by one.
    fn save_pretrained(&self, folder: impl AsRef<Path>) -> Result<()> {
        self.save_pretrained_with(folder, &SaveOptions::default())
    }

    /// [`save_pretrained`](Self::save_pretrained) with options.
    ///
    /// # Errors
    /// As for [`save_pretrained`](Self::save_pretrained).
    fn save_pretrained_with(&self, folder: impl AsRef<Path>, options: &SaveOptions) -> Result<()> {
        let mut writer = FolderWriter::new(folder.as_ref(), options.max_shard_bytes)?;
        self.write_pretrained(&mut writer).map_err(Error::model)?;
        let is_sharded = writer.finish(|| match &options.card {
            Some(card) => card.to_string(),
            None => self.generate_model_card(),
        })?;
        if let (true, Some(progress)) = (is_sharded, &options.progress) {
            progress.on(&Event::Note(SHARDED));
        }
        Ok(())
    }

    /// Loads a model from a folder, or, if there is no such folder, from the repository
    /// `owner/name` on the Hub, all files at one commit.
    ///
    /// # Errors
    /// When there is neither, when a file is missing or invalid, or when the download fails; the
    /// kind and the text of the error say which.
    fn from_pretrained(id_or_folder: impl AsRef<Path>) -> Result<Self> {
        Self::from_pretrained_with(id_or_folder, &LoadOptions::default())
    }

    /// [`from_pretrained`](Self::from_pretrained) with options.
    ///
    /// # Errors
    /// As for [`from_pretrained`](Self::from_pretrained), and
    /// [`ErrorKind::UnknownOption`](crate::ErrorKind::UnknownOption).
    fn from_pretrained_with(id_or_folder: impl AsRef<Path>, options: &LoadOptions) -> Result<Self> {
        options.refuse_unknown(Self::OPTIONS)?;
        let folder = Folder::new(folder_of(id_or_folder.as_ref(), options)?);
        for _ in 0..MAX_READS {
            let before = folder.stamp();
            let model = Self::read_pretrained(&folder, options);
            // A save may be writing files there at the same time.
            if folder.stamp() == before {
                if let Some(doubt) = folder.doubt() {
                    options.note(&doubt);
                }
                return model.map_err(Error::model);
            }
        }
        let busy = "the folder changed during every read; load it when no program writes to it";
        Err(Error::io(folder.path(), std::io::Error::other(busy)))
    }

    /// Pushes the model to the repository as one commit. The repository is created if it is absent.
    /// The commit deletes weights that it replaces under other names, such as shards and their
    /// index.
    ///
    /// # Errors
    /// When the model cannot be saved, or on an error of the Hub or the network; see
    /// [`ErrorKind`](crate::ErrorKind).
    fn push_to_hub(&self, repo: &str) -> Result<Upload> {
        self.push_to_hub_with(repo, &PushOptions::default())
    }

    /// [`push_to_hub`](Self::push_to_hub) with options.
    ///
    /// # Errors
    /// As for [`push_to_hub`](Self::push_to_hub).
    fn push_to_hub_with(&self, repo: &str, options: &PushOptions) -> Result<Upload> {
        let repo = RepoId::parse(repo)?;
        let hub = options.client()?;
        let staged = Staging::new_temporary()?;
        // The model is asked first: one that cannot be saved makes no repository.
        let mut save = options.save.clone();
        save.progress = save.progress.or_else(|| hub.receiver().cloned());
        self.save_pretrained_with(staged.path(), &save)?;
        let mut options = options.upload.clone().replace_weights(true);
        options
            .commit_message
            .get_or_insert_with(|| COMMIT_MESSAGE.to_owned());
        hub.upload_folder(staged.path(), &repo, &options)
    }
}

/// The note that the weights are in several files, which Python's mixin does not read.
const SHARDED: &str = "the weights are in several files, which `from_pretrained` of Python's mixin \
                       does not read: load them there with `huggingface_hub.load_torch_model`, or \
                       save with a larger `max_shard_bytes`";

/// How often a folder is read again because it changed during the read.
const MAX_READS: usize = 5;

/// The folder to read: the given one, or the snapshot of a repository.
fn folder_of(given: &Path, options: &LoadOptions) -> Result<std::path::PathBuf> {
    if given.is_dir() {
        return Ok(given.to_path_buf());
    }
    let repo = RepoId::parse(&given.to_string_lossy())?;
    let hub = match &options.hub {
        Some(hub) => hub.clone(),
        None if options.local_files_only => Hub::offline_from_env()?,
        None => Hub::from_env()?,
    };
    let hub = hub.overridden(
        options.token.as_ref(),
        options.cache_dir.as_deref(),
        options.progress.as_ref(),
    );
    let mut snapshot = SnapshotOptions::default()
        .force_download(options.force_download)
        .local_files_only(options.local_files_only);
    if let Some(revision) = &options.revision {
        snapshot = snapshot.revision(revision);
    }
    hub.snapshot(&repo, &snapshot)
}
