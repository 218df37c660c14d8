//! Where a training stood: what lies beside a checkpoint so that the training can go on.

mod counters;
mod data;
mod decode;
mod encode;
mod optimizer;
mod rng;

pub use counters::Counters;
pub use data::Data;
pub use optimizer::{Algorithm, Optimizer, OptimizerGroup, OptimizerParameter, OptimizerState};
pub use rng::{GeneratorState, RngState};

use std::sync::Arc;

use nnx_checkpoint::pickle::NodeId;
use nnx_checkpoint::torch::{PickledObject, TorchObject};
use nnx_params::{Number, Value};

use crate::error::{Error, Result};

/// The version that is written, and the last one that is read.
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
        "optimizer_factories",
        "schedulers",
        "scheduler_types",
        "precision",
        "compile",
        "distributed",
    ];

    /// What a bare optimizer's state is wrapped in, in order.
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

/// Where a training stood: the state of its optimizer, schedule, gradient scaler and random
/// generators, its counters, and whatever else was registered.
///
/// Everything is kept as it was read, in order, and written back; the typed methods are views of
/// it. A state can so hold what this version knows nothing of.
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
    /// A state of the version that is written, with every key and nothing in it.
    pub fn new() -> Self {
        let mut state = Self {
            entries: keys::ALL.map(|key| (key.to_owned(), Data::None)).into(),
        };
        state.set(keys::VERSION, Data::Int(LATEST_VERSION));
        state
    }

    /// The state that an object of a file is.
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
            // A bare optimizer's state has text keys too.
            let name = graph.text(key).ok_or_else(|| {
                Error::training_state(format!(
                    "expected texts as keys of a training state, found {}",
                    graph.describe(key)
                ))
            })?;
            let value = match name {
                // What was registered is the user's own: it is kept as a graph.
                keys::COMPONENTS if !graph.is_none(value) => {
                    Data::Object(PickledObject::new(Arc::clone(object), value))
                }
                _ => decoder.decode(value)?,
            };
            state.set(name, value);
        }
        Ok(state)
    }

    /// The plain data that one object of a file is.
    pub(crate) fn plain(object: &Arc<TorchObject>, id: NodeId) -> Result<Data> {
        decode::Decoder::new(object).decode(id)
    }

    /// The state in which a bare optimizer's state is wrapped, as the reference does it.
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

    /// The same state as it is written: of the latest version, with all its keys in order and those
    /// that this version does not know behind them, stamped with the id and ordinal of a save.
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

    /// The object that a file is of.
    pub(crate) fn to_object(&self) -> Result<TorchObject> {
        encode::object(&self.entries)
    }

    /// The version of the state: 0 for a bare optimizer's state of before there were versions.
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

    /// Sets the value of a key, in its place where it is there, else behind the others.
    pub fn set(&mut self, key: &str, value: Data) {
        match self.entries.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.entries.push((key.to_owned(), value)),
        }
    }

    /// The id that ties the state to its checkpoint.
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

    /// Sets [`completed_epoch`](Self::completed_epoch); a save without it takes the checkpoint's.
    pub fn set_completed_epoch(&mut self, epoch: impl Into<Option<i64>>) {
        let epoch = epoch
            .into()
            .map_or(Data::None, |epoch| Data::Int(epoch.into()));
        self.set(keys::COMPLETED_EPOCH, epoch);
    }

    /// Where the training stood.
    pub fn counters(&self) -> Option<Counters> {
        let counters = self.get(keys::COUNTERS)?;
        (!counters.is_none()).then(|| Counters::of_data(counters))
    }

    /// Sets [`counters`](Self::counters).
    pub fn set_counters(&mut self, counters: &Counters) {
        self.set(keys::COUNTERS, counters.to_data());
    }

    /// Whether there is a state of an optimizer, or of several: without one a training cannot go on.
    pub fn has_optimizer(&self) -> bool {
        [keys::OPTIMIZER, keys::OPTIMIZERS]
            .iter()
            .any(|key| self.get(key).is_some_and(|value| !value.is_none()))
    }

    /// The state of the optimizer, by groups and parameters; none where there is none.
    ///
    /// # Errors
    /// When it does not have the form that PyTorch gives it; [`get`](Self::get) gives it then.
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

    /// The states of a trainer's optimizers by name, in order; empty where there are none.
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
                    Error::training_state("expected texts as names of optimizers, found another")
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

    /// The state of the learning rate's schedule, as PyTorch's `state_dict()` gives it, and its
    /// class.
    pub fn scheduler(&self) -> Option<(&Data, Option<&str>)> {
        let state = self.get(keys::SCHEDULER).filter(|state| !state.is_none())?;
        Some((state, self.get(keys::SCHEDULER_TYPE).and_then(Data::as_str)))
    }

    /// Sets [`scheduler`](Self::scheduler).
    pub fn set_scheduler(&mut self, state: Data, class: &str) {
        self.set(keys::SCHEDULER, state);
        self.set(keys::SCHEDULER_TYPE, Data::Str(class.to_owned()));
    }

    /// The state of the gradient scaler, as PyTorch's `state_dict()` gives it.
    pub fn scaler(&self) -> Option<&Data> {
        self.get(keys::SCALER).filter(|state| !state.is_none())
    }

    /// The states of the random generators.
    pub fn rng(&self) -> Option<RngState<'_>> {
        let rng = self.get(keys::RNG).filter(|state| !state.is_none())?;
        Some(RngState::new(rng))
    }

    /// The states of the registered components by name, as a graph: `{name: {version, required,
    /// state}}`.
    pub fn components(&self) -> Option<&Data> {
        self.get(keys::COMPONENTS).filter(|state| !state.is_none())
    }
}

impl Default for TrainingState {
    fn default() -> Self {
        Self::new()
    }
}
