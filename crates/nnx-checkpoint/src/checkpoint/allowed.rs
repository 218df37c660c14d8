//! The classes and functions that an NNCheckpoint's pickle may name.

use super::classes;
use crate::error::{Error, ErrorKind, Result};
use crate::pickle::{Graph, Node};

/// Modules with the names allowed in them: what NNx 0.2.3 and 0.4.1 write, and what NumPy's scalars
/// are made of, which metrics may be. No more.
#[rustfmt::skip]
const ALLOWED: &[(&str, &[&str])] = &[
    ("_codecs", &["encode"]),
    ("collections", &["OrderedDict"]),
    ("nnx.nn.enum.activations", &["Activations"]),
    ("nnx.nn.enum.devices", &["Devices"]),
    ("nnx.nn.enum.losses", &["Losses"]),
    ("nnx.nn.enum.nets", &["Nets"]),
    ("numpy", &["dtype"]),
    ("numpy._core.multiarray", &["scalar"]),
    ("numpy.core.multiarray", &["scalar"]),
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

/// Checks every class and function that a pickle names, wherever it stands, and that no object is
/// changed after it was made: NNx writes no such thing, and what it would do in Python is not what
/// was read here.
///
/// # Errors
/// At the first object that is not as it should be, with the offset where it is made.
pub(super) fn check(graph: &Graph) -> Result<()> {
    for (id, node) in graph.nodes() {
        let error = match node {
            Node::Global { module, name } if !is_allowed(module, name) => {
                Error::new(ErrorKind::UnsafeGlobal {
                    module: module.to_string(),
                    name: name.to_string(),
                })
            }
            Node::Extension(code) => Error::new(ErrorKind::UnsafeGlobal {
                module: "copyreg".to_owned(),
                name: format!("extension {code}"),
            }),
            _ if !graph.changes(id).is_empty() => Error::malformed(format!(
                "the pickle changes {} after it was made",
                graph.describe(id)
            )),
            _ => continue,
        };
        return Err(match graph.offset(id) {
            Some(offset) => error.at(offset),
            None => error,
        });
    }
    Ok(())
}
