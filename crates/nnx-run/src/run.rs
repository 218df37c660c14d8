//! `NNRun`, one training run.

mod epochs;
pub(crate) mod ids;
mod journal;
mod lease;
pub(crate) mod load;
pub(crate) mod metadata;
mod save;
pub(crate) mod verify;
mod warning;

pub use epochs::EpochMetrics;
pub use lease::RunLease;
pub use warning::RunWarning;

use std::fmt;
use std::path::{Path, PathBuf};

use nnx_checkpoint::NNCheckpoint;
use nnx_params::{
    Checkpoints, MonitorRecord, MonitorSpec, NNCheckpointTransform, NNIterationDataPoint,
    NNModelParams, NNTrainParams, NNTrainerParams, NetParams, RunIdentity, State, Value,
};

use crate::best;
use crate::error::Result;
use crate::layout::runs_folder;
use crate::store::CheckpointStore;

/// The checkpoints of a training's phases, in the order in which they are taken. `best` repeats one
/// of them.
const PHASES: [Checkpoints; 5] = [
    Checkpoints::First,
    Checkpoints::Q1,
    Checkpoints::Q2,
    Checkpoints::Q3,
    Checkpoints::Last,
];

/// One training run: what it was configured with, from which its id follows, and its history.
///
/// A `root` is the folder that holds the folder `runs`; Python's default is the working directory.
///
/// ```
/// use nnx_params::{Activations, NNModelParams, NNParams, NNTrainParams, NetParams, Nets};
/// use nnx_run::NNRun;
///
/// let net: NetParams = NNParams::builder(4, 3)
///     .hidden_dims([8])
///     .activation(Activations::Relu)
///     .dropout_prob(0.1)
///     .build()?
///     .into();
/// let model = NNModelParams::builder(Nets::FeedFwd).build()?;
/// let run = NNRun::new(model, net, NNTrainParams::builder(8).build()?)?;
/// assert_eq!(run.id(), "cbcb83e7e2b607e54bb9725aa8d31d75");
///
/// let root = tempfile::tempdir()?;
/// run.save(root.path())?;
/// assert_eq!(NNRun::load(run.id(), root.path())?.state()?, run.state()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct NNRun {
    id: String,
    model: NNModelParams,
    net: Option<NetParams>,
    train: NNTrainParams,
    trainer: Option<NNTrainerParams>,
    salt: Option<String>,
    transforms: Vec<NNCheckpointTransform>,
    idps: Vec<NNIterationDataPoint>,
    /// The folder of the journal that holds all records, where there is one.
    history: Option<PathBuf>,
    metadata: State,
    /// What was wrong with the file of the metadata.
    metadata_warning: Option<RunWarning>,
    /// What is wrong with the history.
    history_warnings: Vec<RunWarning>,
    /// The keys of `run.yaml` that this version does not know.
    unknown: State,
}

impl NNRun {
    /// A run without history. A registered or runtime net has no parameters of its own.
    ///
    /// # Errors
    /// When the model has no net, so that there is no id.
    pub fn new(
        model: NNModelParams,
        net: impl Into<Option<NetParams>>,
        train: NNTrainParams,
    ) -> Result<Self> {
        Self {
            id: String::new(),
            model,
            net: net.into(),
            train,
            trainer: None,
            salt: None,
            transforms: Vec::new(),
            idps: Vec::new(),
            history: None,
            metadata: State::new(),
            metadata_warning: None,
            history_warnings: Vec::new(),
            unknown: State::new(),
        }
        .identified()
    }

    /// The same run with the parameters of several optimizers, and the id that follows.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn with_trainer(mut self, trainer: impl Into<Option<NNTrainerParams>>) -> Result<Self> {
        self.trainer = trainer.into();
        self.identified()
    }

    /// The same run with a text that tells equal configurations apart, and the id that follows.
    ///
    /// # Errors
    /// When the text is blank.
    pub fn with_salt(mut self, salt: &str) -> Result<Self> {
        self.salt = Some(salt.to_owned());
        self.identified()
    }

    /// The same run with the steps that changed its net, and the id that follows.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn with_transforms(
        mut self,
        transforms: impl IntoIterator<Item = NNCheckpointTransform>,
    ) -> Result<Self> {
        self.transforms = transforms.into_iter().collect();
        self.identified()
    }

    /// The same run with another history.
    #[must_use]
    pub fn with_idps(mut self, idps: impl IntoIterator<Item = NNIterationDataPoint>) -> Self {
        self.idps = idps.into_iter().collect();
        let strays = RunWarning::of_records(&self.idps, None);
        self.history_warnings = strays.into_iter().collect();
        self
    }

    /// The same run with other [`metadata`](Self::metadata).
    #[must_use]
    pub fn with_metadata(mut self, metadata: State) -> Self {
        self.metadata = metadata;
        self.metadata_warning = None;
        self
    }

    fn identified(mut self) -> Result<Self> {
        self.id = self.identity().run_id()?;
        Ok(self)
    }

    fn identity(&self) -> RunIdentity<'_> {
        let mut identity = RunIdentity::new(&self.model, &self.train).transforms(&self.transforms);
        if let Some(net) = &self.net {
            identity = identity.net(net);
        }
        if let Some(trainer) = &self.trainer {
            identity = identity.trainer(trainer);
        }
        if let Some(salt) = &self.salt {
            identity = identity.salt(salt);
        }
        identity
    }

    /// The id: 32 hexadecimal digits that everything but history and metadata decides.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The serialised form, key for key as Python gives it: the id, then what it is made of.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn state(&self) -> Result<State> {
        let mut state = State::from_iter([("id", self.id())]);
        state.extend(self.identity().state()?);
        Ok(state)
    }

    /// [`state`](Self::state) followed by the keys that this version does not know, at every level.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn full_state(&self) -> Result<State> {
        let mut state = self.state()?;
        state.insert("model", self.model.full_state()?);
        if let Some(net) = &self.net {
            state.insert("net", net.full_state());
        }
        state.insert("train", self.train.full_state());
        if let Some(trainer) = &self.trainer {
            state.insert("trainer", trainer.full_state());
        }
        if !self.transforms.is_empty() {
            let transforms = self.transforms.iter().map(|it| it.full_state().into());
            state.insert("transforms", Value::List(transforms.collect()));
        }
        state.extend(self.unknown.clone());
        Ok(state)
    }

    /// The kind of net, device, loss and precision.
    pub fn model(&self) -> &NNModelParams {
        &self.model
    }

    /// The net's parameters; none for a registered or runtime net.
    pub fn net(&self) -> Option<&NetParams> {
        self.net.as_ref()
    }

    /// The parameters of the training.
    pub fn train(&self) -> &NNTrainParams {
        &self.train
    }

    /// The parameters of several optimizers, in runs of a trainer.
    pub fn trainer(&self) -> Option<&NNTrainerParams> {
        self.trainer.as_ref()
    }

    /// The text that tells equal configurations apart.
    pub fn salt(&self) -> Option<&str> {
        self.salt.as_deref()
    }

    /// The steps that changed the net.
    pub fn transforms(&self) -> &[NNCheckpointTransform] {
        &self.transforms
    }

    /// The history, one record for each iteration; of a run that keeps it in a
    /// [journal](Self::history) the last ones, and [`iter_history`](crate::journal::iter_history)
    /// gives all.
    pub fn idps(&self) -> &[NNIterationDataPoint] {
        &self.idps
    }

    /// What the run was trained on and with: `metadata.yaml`, which no id depends on. Empty where
    /// there is none, and where it cannot be read, which [`warnings`](Self::warnings) tell.
    pub fn metadata(&self) -> &State {
        &self.metadata
    }

    /// What would else go unseen of a run that could be read: a `metadata.yaml` that was passed
    /// over, records that are of no epoch, and those that do not count, since their epoch was not
    /// finished. A run whose training ended has none.
    pub fn warnings(&self) -> impl Iterator<Item = &RunWarning> {
        self.metadata_warning.iter().chain(&self.history_warnings)
    }

    /// The run and the checkpoint from which it went on, if it did.
    pub fn parent(&self) -> Option<(&str, Option<&str>)> {
        let train = &self.train;
        let id = train.parent_run_id().or(train.resume_from_run_id())?;
        Some((id, train.resume_from_checkpoint()))
    }

    /// What the choice of the best epoch tracks: the monitor of the last record that one judged,
    /// which says whether less or more is better, else the one that the training was configured
    /// with. None where the run has no monitor of its own.
    pub fn monitor(&self) -> Option<&MonitorSpec> {
        let judged = self.idps.iter().rev().find_map(|idp| idp.selection());
        let monitor = judged.map(MonitorRecord::monitor);
        monitor.or_else(|| self.train.monitor())
    }

    /// The metrics of each epoch, in order: from the journal of the run, where it keeps one that can
    /// be read, else from [`idps`](Self::idps).
    ///
    /// What a journal does not record of the epochs before those records is not there: their learning
    /// rate is not a number, and they have no records of training and validation.
    ///
    /// Python takes any number for an epoch, 0.5 and not-a-number included. A record whose epoch is
    /// no whole number of 64 bits is in none of these; [`warnings`](Self::warnings) tell of it.
    pub fn epochs(&self) -> Vec<EpochMetrics> {
        match self.journal_epochs() {
            Ok(Some(epochs)) => epochs,
            Ok(None) | Err(_) => epochs::of_records(&self.idps),
        }
    }

    /// The checkpoints of the run.
    ///
    /// # Errors
    /// When the id cannot name a folder, which no id that this type computes fails at.
    pub fn store(&self, root: impl AsRef<Path>) -> Result<CheckpointStore> {
        CheckpointStore::new(&self.id, root)
    }

    /// The checkpoints of the five phases, in order; none where one was never taken. `best` is not
    /// among them, since it repeats one.
    ///
    /// # Errors
    /// When a checkpoint that is there cannot be read.
    pub fn checkpoints(
        &self,
        root: impl AsRef<Path>,
    ) -> Result<Vec<(Checkpoints, Option<NNCheckpoint>)>> {
        let store = self.store(root)?;
        PHASES
            .into_iter()
            .map(|phase| Ok((phase, store.load(&phase.into())?)))
            .collect()
    }

    /// The best run, if the folder of runs points to one that is there.
    ///
    /// # Errors
    /// When the pointer, or the run that it names, cannot be read.
    pub fn best(root: impl AsRef<Path>) -> Result<Option<Self>> {
        let root = root.as_ref();
        match Self::best_id(root)? {
            Some(id) if ids::is_there(&runs_folder(root).join(&id).join("run.yaml"))? => {
                Self::load(&id, root).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The id that the folder of runs names as the best one: the text of the link `best`, or of the
    /// file `best/POINTER.txt` where the system has no links.
    ///
    /// # Errors
    /// When the pointer cannot be read.
    pub fn best_id(root: impl AsRef<Path>) -> Result<Option<String>> {
        best::pointed(&runs_folder(root.as_ref()))
    }
}

/// Writes the id.
impl fmt::Display for NNRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}
