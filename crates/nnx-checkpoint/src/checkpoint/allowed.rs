//! The classes and functions that an NNCheckpoint's pickle may name.

use super::classes;
use crate::error::{Error, ErrorKind, Result};
use crate::pickle::{Graph, Node};

/// Modules with the names allowed in them: what NNx 0.2.3 and 0.4.1 write, no more.
#[rustfmt::skip]
const ALLOWED: &[(&str, &[&str])] = &[
    ("collections", &["OrderedDict"]),
    ("nnx.nn.enum.activations", &["Activations"]),
    ("nnx.nn.enum.devices", &["Devices"]),
    ("nnx.nn.enum.losses", &["Losses"]),
    ("nnx.nn.enum.nets", &["Nets"]),
    ("torch._utils", &["_rebuild_parameter", "_rebuild_tensor_v2", "_rebuild_tensor_v3"]),
    ("torch.storage", &["UntypedStorage"]),
    (classes::CHECKPOINT, &["NNCheckpoint", "NNCheckpointTransform"]),
    (classes::MODELS, &["_model_spec", "RuntimeModule"]),
    (classes::MONITORS, &["MonitorRecord", "MonitorSpec"]),
    (classes::NN_CONV_PARAMS, &["NNConvParams"]),
    (classes::NN_EVALUATION_DATA_POINT, &["NNEvaluationDataPoint", "_FrozenMetrics"]),
    (classes::NN_ITERATION_DATA_POINT, &["NNIterationDataPoint"]),
    (classes::NN_MODEL_PARAMS, &["NNModelParams"]),
    (classes::NN_MOE_PARAMS, &["NNMoEParams"]),
    (classes::NN_PARAMS, &["NNParams", "_ImmutableList"]),
    (classes::NN_TRANSFORMER_PARAMS, &["NNTransformerParams"]),
    (classes::NN_VIT_PARAMS, &["NNViTParams"]),
    (classes::PRECISION, &["PrecisionPolicy"]),
    (classes::TASKS, &["TaskSpec"]),
];

/// Whether a class or function is on the list.
fn is_allowed(module: &str, name: &str) -> bool {
    match module {
        // Storage classes and dtypes of PyTorch.
        "torch" => crate::Dtype::all()
            .any(|dtype| dtype.storage_class() == Some(name) || dtype.name() == name),
        _ => ALLOWED
            .iter()
            .any(|(m, names)| *m == module && names.contains(&name)),
    }
}

/// Checks every class and function that a pickle names, wherever it stands.
///
/// # Errors
/// At the first one that is not on the list, with the offset where it is named.
pub(super) fn check(graph: &Graph) -> Result<()> {
    for (id, node) in graph.nodes() {
        let (module, name) = match node {
            Node::Global { module, name } if is_allowed(module, name) => continue,
            Node::Global { module, name } => (module.to_string(), name.to_string()),
            Node::Extension(code) => ("copyreg".to_owned(), format!("extension {code}")),
            _ => continue,
        };
        let error = Error::new(ErrorKind::ForbiddenGlobal { module, name });
        return Err(match graph.offset(id) {
            Some(offset) => error.at(offset),
            None => error,
        });
    }
    Ok(())
}
