//! `NNRun`, one training run.

pub(crate) mod builder;
mod journal;
mod journal_cache;
mod load;
mod verify;

use std::fmt;
use std::path::{Path, PathBuf};

use nnx_checkpoint::NNCheckpoint;
use nnx_params::{
    Checkpoints, MonitorRecord, MonitorSpec, NNCheckpointTransform, NNIterationDataPoint,
    NNModelParams, NNTrainParams, NNTrainerParams, NetParams, RunIdentity, State, Value,
};

use crate::epochs::{self, EpochMetrics};
use crate::error::Result;
use crate::store::CheckpointStore;
use crate::warning::RunWarning;
use journal_cache::JournalCache;

/// The checkpoints of the phases of a training, in the order in which they are taken. `best` repeats
/// one of them.
const PHASES: [Checkpoints; 5] = [
    Checkpoints::First,
    Checkpoints::Q1,
    Checkpoints::Q2,
    Checkpoints::Q3,
    Checkpoints::Last,
];

/// One training run: its configuration, which determines its id, and its history.
///
/// A `root` is the folder that contains the folder `runs`; Python's default is the working directory.
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
    /// The folder of the journal that holds all records, if there is one.
    history: Option<PathBuf>,
    /// Answers from that journal; `None` until a run is loaded.
    journal: Option<JournalCache>,
    metadata: State,
    /// The problem of `metadata.yaml`.
    metadata_warning: Option<RunWarning>,
    /// The problems of the history.
    history_warnings: Vec<RunWarning>,
    /// The keys of `run.yaml` that this version does not know.
    unknown: State,
}

impl NNRun {
    /// A run without history. A registered or runtime net has no parameters.
    /// [`builder`](Self::builder) makes runs of more parts.
    ///
    /// # Errors
    /// When the model has no net, so that there is no id.
    pub fn new(
        model: NNModelParams,
        net: impl Into<Option<NetParams>>,
        train: NNTrainParams,
    ) -> Result<Self> {
        Self::builder(model, net, train).build()
    }

    fn without_id(model: NNModelParams, net: Option<NetParams>, train: NNTrainParams) -> Self {
        Self {
            id: String::new(),
            model,
            net,
            train,
            trainer: None,
            salt: None,
            transforms: Vec::new(),
            idps: Vec::new(),
            history: None,
            journal: None,
            metadata: State::new(),
            metadata_warning: None,
            history_warnings: Vec::new(),
            unknown: State::new(),
        }
    }

    /// The same run with another history.
    #[must_use]
    pub fn with_idps(mut self, idps: impl IntoIterator<Item = NNIterationDataPoint>) -> Self {
        self.idps = idps.into_iter().collect();
        self.journal = None;
        let strays = RunWarning::stray_records(&self.idps, None);
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

    /// The id: 32 hexadecimal digits, computed from everything but history and metadata.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The serialised form, with the keys in Python's order: the id, then the parts that determine it.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn state(&self) -> Result<State> {
        let mut state = State::from_iter([("id", self.id())]);
        state.extend(self.identity().state()?);
        Ok(state)
    }

    /// [`state`](Self::state) with the keys that this version does not know, at every level.
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

    /// The parameters of the net; `None` for a registered or runtime net.
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

    /// The text that distinguishes runs of equal configuration.
    pub fn salt(&self) -> Option<&str> {
        self.salt.as_deref()
    }

    /// The transforms that changed the net.
    pub fn transforms(&self) -> &[NNCheckpointTransform] {
        &self.transforms
    }

    /// The history, one record for each iteration. Of a run that keeps its history in a
    /// [journal](Self::history) these are the last records, and
    /// [`iter_history`](crate::journal::iter_history) gives all.
    pub fn idps(&self) -> &[NNIterationDataPoint] {
        &self.idps
    }

    /// The content of `metadata.yaml`: the machine and the program of the training. The id does not
    /// depend on it. Empty if there is no such file, or if it cannot be read, which
    /// [`warnings`](Self::warnings) reports.
    pub fn metadata(&self) -> &State {
        &self.metadata
    }

    /// The problems of the run that did not prevent reading it: a `metadata.yaml` that was ignored,
    /// records without a valid epoch, and records that do not count because their epoch was not
    /// finished. A run whose training ended normally has no warnings.
    pub fn warnings(&self) -> impl Iterator<Item = &RunWarning> {
        self.metadata_warning.iter().chain(&self.history_warnings)
    }

    /// The id of the run that this one resumed, and the checkpoint from which it did.
    pub fn parent(&self) -> Option<(&str, Option<&str>)> {
        let train = &self.train;
        let id = train.parent_run_id().or(train.resume_from_run_id())?;
        Some((id, train.resume_from_checkpoint()))
    }

    /// The monitor that chooses the best epoch: that of the last record that has one, which says
    /// whether smaller or larger is better, otherwise the monitor of the training's parameters.
    /// `None` if the run has no monitor.
    pub fn monitor(&self) -> Option<&MonitorSpec> {
        let judged = self.idps.iter().rev().find_map(|idp| idp.selection());
        let monitor = judged.map(MonitorRecord::monitor);
        monitor.or_else(|| self.train.monitor())
    }

    /// The metrics of each epoch, in order: from the rows of the run's journal if it has one that can
    /// be read, otherwise from [`idps`](Self::idps).
    ///
    /// A journal's row has no learning rate and no evaluation records. Epochs that are described by
    /// rows alone therefore have NaN as learning rate, and no records.
    ///
    /// Python accepts any number as an epoch, including 0.5 and NaN. Records whose epoch is not a
    /// whole number of 64 bits are not in these epochs; [`warnings`](Self::warnings) reports them.
    pub fn epochs(&self) -> Vec<EpochMetrics> {
        match self.journal_epochs() {
            Ok(Some(epochs)) => epochs,
            Ok(None) | Err(_) => epochs::from_records(&self.idps),
        }
    }

    /// The checkpoints of the run.
    ///
    /// # Errors
    /// When the id cannot name a folder; every id that this type computes can.
    pub fn store(&self, root: impl AsRef<Path>) -> Result<CheckpointStore> {
        CheckpointStore::new(&self.id, root)
    }

    /// The checkpoints of the five phases, in order; `None` for a checkpoint that was not taken.
    /// `best` is not among them, because it repeats one of them.
    ///
    /// # Errors
    /// When a checkpoint exists and cannot be read.
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
}

/// Writes the id.
impl fmt::Display for NNRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}
