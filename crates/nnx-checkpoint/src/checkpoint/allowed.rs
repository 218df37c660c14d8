//! The classes and functions that an NNCheckpoint's pickle may name.

use nnx_params::{Activations, Devices, Losses, Nets};

use super::classes;
use crate::error::{Error, ErrorKind, Result};
use crate::pickle::{Graph, Node};
use crate::reader::nn_checkpoint;

/// Modules with the names allowed in them, beside the classes of NNx's parameters: the names that
/// NNx 0.2.3 and 0.4.1 write, and those of NumPy's scalars, which metrics may be. No more.
#[rustfmt::skip]
const ALLOWED: &[(&str, &[&str])] = &[
    ("_codecs", &["encode"]),
    ("collections", &["OrderedDict"]),
    ("numpy", &["dtype"]),
    ("numpy._core.multiarray", &["scalar"]),
    ("numpy.core.multiarray", &["scalar"]),
    ("torch._utils", &["_rebuild_parameter", "_rebuild_tensor_v2", "_rebuild_tensor_v3"]),
    ("torch.storage", &["UntypedStorage"]),
    (nn_checkpoint::CLASS.0, &[nn_checkpoint::CLASS.1]),
    (classes::IMMUTABLE_LIST.0, &[classes::IMMUTABLE_LIST.1]),
    (classes::FROZEN_METRICS.0, &[classes::FROZEN_METRICS.1]),
    (Activations::MODULE, &[Activations::CLASS]),
    (Devices::MODULE, &[Devices::CLASS]),
    (Losses::MODULE, &[Losses::CLASS]),
    (Nets::MODULE, &[Nets::CLASS]),
];

/// Whether a class or function is on the list.
fn is_allowed(module: &str, name: &str) -> bool {
    match module {
        // Storage classes and dtypes of PyTorch.
        "torch" => crate::Dtype::all()
            .any(|dtype| dtype.storage_class() == Some(name) || dtype.name() == name),
        _ => {
            ALLOWED
                .iter()
                .any(|(m, names)| *m == module && names.contains(&name))
                || classes::tables().any(|table| table.names(module, name))
        }
    }
}

/// Checks every class and function that a pickle names, wherever it is, and that no object is
/// changed after it was made: NNx writes no such change, and Python would then have another object
/// than the one that was read here.
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
