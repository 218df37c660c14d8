//! The training state: the file beside a checkpoint from which a training can be resumed.

pub(crate) mod counters;
pub(crate) mod data;
mod decode;
mod encode;
pub(crate) mod file;
pub(crate) mod optimizer;
pub(crate) mod rng;

use std::sync::Arc;

use nnx_checkpoint::pickle::NodeId;
use nnx_checkpoint::torch::{PickledObject, TorchObject};
use nnx_params::{Number, Value};

use crate::error::{Error, Result};
use counters::Counters;
use data::Data;
use optimizer::OptimizerState;
use rng::RngState;

/// The version that is written, and the newest one that is read.
pub(crate) const LATEST_VERSION: i128 = 4;

/// The keys of a training state.
pub(crate) mod keys {
    pub(crate) const VERSION: &str = "nnx_training_state_version";
    pub(crate) const CHECKPOINT_ID: &str = "checkpoint_id";
    pub(crate) const OPTIMIZER: &str = "optimizer";
    pub(crate) const OPTIMIZER_TYPE: &str = "optimizer_type";
    pub(crate) const OPTIMIZER_TOPOLOGY: &str = "optimizer_topology";
    pub(crate) const SCHEDULER: &str = "scheduler";
    pub(crate) const SCHEDULER_TYPE: &str = "scheduler_type";
    pub(crate) const SCALER: &str = "scaler";
    pub(crate) const RNG: &str = "rng";
    pub(crate) const COMPLETED_EPOCH: &str = "completed_epoch";
    pub(crate) const GENERATION: &str = "generation";
    pub(crate) const COUNTERS: &str = "counters";
    pub(crate) const COMPONENTS: &str = "components";
    pub(crate) const OPTIMIZERS: &str = "optimizers";
    pub(crate) const OPTIMIZER_TYPES: &str = "optimizer_types";
    pub(crate) const OPTIMIZER_TOPOLOGIES: &str = "optimizer_topologies";
    pub(crate) const OPTIMIZER_FACTORIES: &str = "optimizer_factories";
    pub(crate) const SCHEDULERS: &str = "schedulers";
    pub(crate) const SCHEDULER_TYPES: &str = "scheduler_types";

    /// All keys of version 4, in order.
    pub(crate) const ALL: [&str; 24] = [
        VERSION,
        CHECKPOINT_ID,
        OPTIMIZER,
        OPTIMIZER_TYPE,
        OPTIMIZER_TOPOLOGY,
        "optimizer_factory",
        SCHEDULER,
        SCHEDULER_TYPE,
        SCALER,
        RNG,
        COMPLETED_EPOCH,
        GENERATION,
        COUNTERS,
        "model",
        COMPONENTS,
        OPTIMIZERS,
        OPTIMIZER_TYPES,
        OPTIMIZER_TOPOLOGIES,
        OPTIMIZER_FACTORIES,
        SCHEDULERS,
        SCHEDULER_TYPES,
        "precision",
        "compile",
        "distributed",
    ];

    /// The keys of the state that a bare optimizer's state is wrapped in, in order.
    pub(crate) const VERSION_0: [&str; 10] = [
        VERSION,
        CHECKPOINT_ID,
        OPTIMIZER,
        OPTIMIZER_TYPE,
        OPTIMIZER_TOPOLOGY,
        SCHEDULER,
        SCHEDULER_TYPE,
        SCALER,
        RNG,
        COMPLETED_EPOCH,
    ];
}

/// The state of a training: that of its optimizer, learning rate schedule, gradient scaler and random
/// generators, its counters, and the states of registered components.
///
/// All entries are kept as they were read, in order, and written back, including those that this
/// version does not know. The typed methods are views of the entries.
///
/// ```
/// use nnx_run::{Counters, Data, TrainingState};
///
/// let mut state = TrainingState::new();
/// state.set_counters(&Counters { global_step: Some(24), ..Counters::default() });
/// assert_eq!(state.keys().count(), 24);
/// assert_eq!(state.counters().and_then(|counters| counters.global_step), Some(24));
/// assert!(state.get("scheduler").is_some_and(Data::is_none));
/// ```
#[derive(Clone, Debug)]
pub struct TrainingState {
    entries: Vec<(String, Data)>,
}

impl TrainingState {
    /// A state of the version that is written, with every key and the value `None` for each.
    pub fn new() -> Self {
        let mut state = Self {
            entries: keys::ALL.map(|key| (key.to_owned(), Data::None)).into(),
        };
        state.set(keys::VERSION, Data::Int(LATEST_VERSION));
        state
    }

    /// The state in the object of a file.
    pub(crate) fn read(object: &Arc<TorchObject>) -> Result<Self> {
        let graph = object.graph();
        let root = graph.root();
        let pairs = graph.dict_pairs(root).ok_or_else(|| {
            Error::training_state(format!(
                "expected a mapping as training state, found {}",
                graph.describe(root)
            ))
        })?;
        let mut decoder = decode::Decoder::new(object);
        let mut state = Self {
            entries: Vec::new(),
        };
        for &(key, value) in pairs {
            // Version 0 is a bare optimizer's state; its keys are texts too.
            let name = graph.text(key).ok_or_else(|| {
                Error::training_state(format!(
                    "expected texts as keys of a training state, found {}",
                    graph.describe(key)
                ))
            })?;
            let value = match name {
                // The states of registered components are of the user's own classes.
                keys::COMPONENTS if !graph.is_none(value) => {
                    Data::Object(PickledObject::new(Arc::clone(object), value))
                }
                _ => decoder.decode(value)?,
            };
            state.set(name, value);
        }
        Ok(state)
    }

    /// One object of a file as plain data.
    pub(crate) fn plain(object: &Arc<TorchObject>, id: NodeId) -> Result<Data> {
        decode::Decoder::new(object).decode(id)
    }

    /// A bare optimizer's state wrapped in a training state of version 0, as NNx does it.
    pub(crate) fn into_version_0(self, completed_epoch: Option<Number>) -> Self {
        let optimizer = self.entries.into_iter();
        let optimizer = optimizer.map(|(key, value)| (Data::Str(key), value));
        let optimizer = Data::Dict(optimizer.collect());
        let mut state = Self {
            entries: keys::VERSION_0
                .map(|key| (key.to_owned(), Data::None))
                .into(),
        };
        state.set(keys::VERSION, Data::Int(0));
        state.set(keys::OPTIMIZER, optimizer);
        let epoch = completed_epoch.map_or(Data::None, |epoch| Data::from(&epoch.into()));
        state.set(keys::COMPLETED_EPOCH, epoch);
        state
    }

    /// The state as it is written: of the latest version, with all its keys in order, then the keys
    /// that this version does not know, stamped with the id and ordinal of a save.
    pub(crate) fn stamped(&self, id: &str, generation: i128, epoch: Value) -> Result<Self> {
        let mut stamped = Self::new();
        for (key, value) in &self.entries {
            stamped.set(key, value.clone());
        }
        stamped.set(keys::VERSION, Data::Int(LATEST_VERSION));
        stamped.set(keys::CHECKPOINT_ID, Data::Str(id.to_owned()));
        stamped.set(keys::GENERATION, Data::Int(generation));
        stamped.set(keys::COMPLETED_EPOCH, Data::from(&epoch));
        Ok(stamped)
    }

    /// The object to write to a file.
    pub(crate) fn to_object(&self) -> Result<TorchObject> {
        encode::object(&self.entries)
    }

    /// The version of the state; 0 for a bare optimizer's state, from before there were versions.
    pub fn version(&self) -> Option<i128> {
        self.get(keys::VERSION).and_then(Data::as_int)
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.iter().map(|(key, _)| key.as_str())
    }

    /// The value of a key, as it was read.
    pub fn get(&self, key: &str) -> Option<&Data> {
        let entry = self.entries.iter().find(|(name, _)| name == key);
        entry.map(|(_, value)| value)
    }

    /// Sets the value of a key. A new key is added at the end.
    pub fn set(&mut self, key: &str, value: Data) {
        match self.entries.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.entries.push((key.to_owned(), value)),
        }
    }

    /// The id that the state shares with its checkpoint.
    pub fn checkpoint_id(&self) -> Option<&str> {
        self.get(keys::CHECKPOINT_ID).and_then(Data::as_str)
    }

    /// The ordinal of the save.
    pub fn generation(&self) -> Option<i128> {
        self.get(keys::GENERATION).and_then(Data::as_int)
    }

    /// The last epoch that was finished.
    pub fn completed_epoch(&self) -> Option<i128> {
        self.get(keys::COMPLETED_EPOCH).and_then(Data::as_int)
    }

    /// Sets [`completed_epoch`](Self::completed_epoch). A save without it uses the checkpoint's epoch.
    pub fn set_completed_epoch(&mut self, epoch: impl Into<Option<i64>>) {
        let epoch = epoch
            .into()
            .map_or(Data::None, |epoch| Data::Int(epoch.into()));
        self.set(keys::COMPLETED_EPOCH, epoch);
    }

    /// The progress of the training.
    pub fn counters(&self) -> Option<Counters> {
        let counters = self.get(keys::COUNTERS)?;
        (!counters.is_none()).then(|| Counters::from_data(counters))
    }

    /// Sets [`counters`](Self::counters).
    pub fn set_counters(&mut self, counters: &Counters) {
        self.set(keys::COUNTERS, counters.to_data());
    }

    /// Whether there is a state of an optimizer, or of several. Without one a training cannot be
    /// resumed.
    pub fn has_optimizer(&self) -> bool {
        [keys::OPTIMIZER, keys::OPTIMIZERS]
            .iter()
            .any(|key| self.get(key).is_some_and(|value| !value.is_none()))
    }

    /// The state of the optimizer, by groups and parameters.
    ///
    /// # Errors
    /// When it does not have PyTorch's form; [`get`](Self::get) still gives it.
    pub fn optimizer(&self) -> Result<Option<OptimizerState>> {
        let part = |key| self.get(key).unwrap_or(&Data::None);
        match part(keys::OPTIMIZER) {
            Data::None => Ok(None),
            state => OptimizerState::read(
                state,
                part(keys::OPTIMIZER_TYPE),
                part(keys::OPTIMIZER_TOPOLOGY),
            )
            .map(Some),
        }
    }

    /// Sets the state of the optimizer, its class and the names and shapes of its parameters.
    pub fn set_optimizer(&mut self, optimizer: &OptimizerState) {
        self.set(keys::OPTIMIZER, optimizer.to_data());
        self.set(keys::OPTIMIZER_TYPE, optimizer.type_data());
        self.set(keys::OPTIMIZER_TOPOLOGY, optimizer.topology_data());
    }

    /// The states of a trainer's optimizers by name, in order.
    ///
    /// # Errors
    /// As for [`optimizer`](Self::optimizer).
    pub fn optimizers(&self) -> Result<Vec<(String, OptimizerState)>> {
        let part = |key, name: &str| {
            let part = self.get(key).and_then(|part| part.get(name));
            part.unwrap_or(&Data::None)
        };
        let states = self.get(keys::OPTIMIZERS).and_then(Data::pairs);
        let states = states.unwrap_or_default().iter();
        states
            .map(|(name, state)| {
                let name = name.as_str().ok_or_else(|| {
                    Error::training_state(
                        "expected texts as names of optimizers, found a value of another type",
                    )
                })?;
                let kind = part(keys::OPTIMIZER_TYPES, name);
                let topology = part(keys::OPTIMIZER_TOPOLOGIES, name);
                Ok((
                    name.to_owned(),
                    OptimizerState::read(state, kind, topology)?,
                ))
            })
            .collect()
    }

    /// Sets the states of several optimizers by name, and that there is no single one.
    pub fn set_optimizers(&mut self, optimizers: &[(String, OptimizerState)]) {
        let all = |part: fn(&OptimizerState) -> Data| {
            Data::dict(
                optimizers
                    .iter()
                    .map(|(name, state)| (name.clone(), part(state))),
            )
        };
        self.set(keys::OPTIMIZERS, all(OptimizerState::to_data));
        self.set(keys::OPTIMIZER_TYPES, all(OptimizerState::type_data));
        self.set(
            keys::OPTIMIZER_TOPOLOGIES,
            all(OptimizerState::topology_data),
        );
        self.set(keys::OPTIMIZER_FACTORIES, all(|_| Data::None));
    }

    /// The state and the Python class of each schedule of several optimizers, by the optimizer's name.
    pub fn schedulers(&self) -> Vec<(&str, &Data, Option<&str>)> {
        let states = self.get(keys::SCHEDULERS).and_then(Data::pairs);
        let classes = self.get(keys::SCHEDULER_TYPES);
        let entries = states
            .unwrap_or_default()
            .iter()
            .filter_map(|(name, state)| {
                let name = name.as_str()?;
                let class = classes.and_then(|classes| classes.get(name));
                Some((name, state, class.and_then(Data::as_str)))
            });
        entries.collect()
    }

    /// Sets [`schedulers`](Self::schedulers).
    pub fn set_schedulers(&mut self, schedulers: Vec<(String, Data, &str)>) {
        let classes = schedulers.iter();
        let classes =
            classes.map(|(name, _, class)| (name.clone(), Data::Str((*class).to_owned())));
        self.set(keys::SCHEDULER_TYPES, Data::dict(classes));
        let states = schedulers.into_iter().map(|(name, state, _)| (name, state));
        self.set(keys::SCHEDULERS, Data::dict(states));
    }

    /// The state of the learning rate schedule, in the form of PyTorch's `state_dict()`, and its
    /// Python class.
    pub fn scheduler(&self) -> Option<(&Data, Option<&str>)> {
        let state = self.get(keys::SCHEDULER).filter(|state| !state.is_none())?;
        Some((state, self.get(keys::SCHEDULER_TYPE).and_then(Data::as_str)))
    }

    /// Sets [`scheduler`](Self::scheduler).
    pub fn set_scheduler(&mut self, state: Data, class: &str) {
        self.set(keys::SCHEDULER, state);
        self.set(keys::SCHEDULER_TYPE, Data::Str(class.to_owned()));
    }

    /// The state of the gradient scaler, in the form of PyTorch's `state_dict()`.
    pub fn scaler(&self) -> Option<&Data> {
        self.get(keys::SCALER).filter(|state| !state.is_none())
    }

    /// The states of the random generators.
    pub fn rng(&self) -> Option<RngState<'_>> {
        let rng = self.get(keys::RNG).filter(|state| !state.is_none())?;
        Some(RngState::new(rng))
    }

    /// The states of the registered components by name, as a pickled object: `{name: {version,
    /// required, state}}`.
    pub fn components(&self) -> Option<&Data> {
        self.get(keys::COMPONENTS).filter(|state| !state.is_none())
    }

    /// [`components`](Self::components) as plain data: the names with the entries of each. An
    /// object of a user's own class stays an object.
    ///
    /// # Errors
    /// When there are more values than [`limits`](crate::limits) allow.
    pub fn component_entries(&self) -> Result<Option<Vec<(Data, Data)>>> {
        let plain = match self.components() {
            None => return Ok(None),
            Some(Data::Object(object)) => {
                decode::Decoder::new(object.shared()).decode(object.id())?
            }
            Some(data) => data.clone(),
        };
        match plain {
            Data::Dict(entries) => Ok(Some(entries)),
            _ => Err(Error::training_state(
                "expected a mapping of components, found a value of another type",
            )),
        }
    }
}

impl Default for TrainingState {
    fn default() -> Self {
        Self::new()
    }
}
