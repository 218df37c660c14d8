//! The configuration of an NNx checkpoint.

use nnx::checkpoint::{ErrorKind, Limits, NNCheckpoint};
use serde::Serialize;

use crate::failure::Failure;
use crate::opened::Opened;
use crate::python::JsonState;

/// The metadata key that every NNx checkpoint in a safetensors file has.
const VERSION_KEY: &str = "nnx_format_version";
/// The class of every NNx checkpoint in a pickle.
const CLASS: &str = "NNCheckpoint";

/// The part of the output that only an NNx checkpoint has.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum NNCheckpointPart {
    Read(Box<Configuration>),
    /// The file claims to be an NNx checkpoint but is not valid. Its tensors are still listed.
    Failed {
        error: Failure,
    },
}

/// The `state()` forms, followed by the keys that a newer NNx added.
#[derive(Debug, Serialize)]
pub(super) struct Configuration {
    pub(super) net_params: Option<JsonState>,
    pub(super) model_params: JsonState,
    pub(super) idp: JsonState,
    pub(super) transforms: Vec<JsonState>,
    pub(super) training_state_id: Option<String>,
    pub(super) training_state_present: Option<bool>,
}

/// Reads the configuration; `None` if this is not an NNx checkpoint.
pub(super) fn read(opened: &Opened) -> Option<NNCheckpointPart> {
    let reader = opened.reader();
    let in_pickle = reader.globals().iter().any(|global| global.name == CLASS);
    if !in_pickle && !reader.metadata().contains_key(VERSION_KEY) {
        return None;
    }
    let checkpoint = match opened.path() {
        Some(path) => NNCheckpoint::from_file(path),
        None => NNCheckpoint::from_reader(reader, &Limits::default()),
    };
    let checkpoint = match checkpoint {
        Ok(checkpoint) => checkpoint,
        Err(error) if matches!(error.kind(), ErrorKind::NotNNCheckpoint { .. }) => return None,
        Err(error) => {
            return Some(NNCheckpointPart::Failed {
                error: error.into(),
            });
        }
    };
    Some(match configuration(checkpoint) {
        Ok(configuration) => NNCheckpointPart::Read(Box::new(configuration)),
        Err(error) => NNCheckpointPart::Failed { error },
    })
}

fn configuration(checkpoint: NNCheckpoint) -> Result<Configuration, Failure> {
    let model_params = checkpoint.model_params.full_state();
    let model_params = model_params.map_err(nnx::checkpoint::Error::from)?;
    let transforms = checkpoint.transforms.iter();
    Ok(Configuration {
        net_params: checkpoint
            .net_params
            .map(|params| JsonState(params.full_state())),
        model_params: JsonState(model_params),
        idp: JsonState(checkpoint.idp.full_state()),
        transforms: transforms
            .map(|transform| JsonState(transform.full_state()))
            .collect(),
        training_state_id: checkpoint.training_state_id,
        training_state_present: checkpoint.training_state_present,
    })
}
