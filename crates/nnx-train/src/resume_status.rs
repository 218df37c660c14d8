//! How a training began.

use nnx_params::{State, Value};

/// How a training began: afresh, or from the checkpoint of another run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResumeStatus {
    /// How it began.
    pub mode: StartMode,
    /// The run that it goes on from.
    pub source_run_id: Option<String>,
    /// The checkpoint of that run.
    pub source_checkpoint: Option<String>,
    /// The components whose states were restored.
    pub restored_components: Vec<String>,
    /// The components that began afresh.
    pub fresh_components: Vec<String>,
    /// The epoch of the checkpoint.
    pub source_epoch: Option<i64>,
    /// The ordinal of the checkpoint, from its manifest.
    pub source_generation: Option<i64>,
    /// The id of the checkpoint, from its manifest.
    pub source_checkpoint_id: Option<String>,
}

/// How a training began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StartMode {
    /// Without another run.
    #[default]
    Fresh,
    /// With weights, optimizer, schedule, random numbers and components of a checkpoint.
    Stateful,
    /// With the weights of a checkpoint.
    WeightsOnly,
}

impl StartMode {
    /// The name of the mode, as `metadata.yaml` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Stateful => "stateful",
            Self::WeightsOnly => "weights_only",
        }
    }
}

impl ResumeStatus {
    /// The mapping in `metadata.yaml`.
    pub fn state(&self) -> State {
        let list = |names: &[String]| {
            Value::List(
                names
                    .iter()
                    .map(|name| Value::from(name.as_str()))
                    .collect(),
            )
        };
        let mut state = State::new();
        state.insert("mode", self.mode.name());
        state.insert("source_run_id", self.source_run_id.clone());
        state.insert("source_checkpoint", self.source_checkpoint.clone());
        state.insert("restored_components", list(&self.restored_components));
        state.insert("fresh_components", list(&self.fresh_components));
        if let Some(epoch) = self.source_epoch {
            state.insert("source_epoch", epoch);
        }
        if let Some(generation) = self.source_generation {
            state.insert("source_generation", generation);
        }
        if let Some(id) = &self.source_checkpoint_id {
            state.insert("source_checkpoint_id", id.as_str());
        }
        state
    }
}
