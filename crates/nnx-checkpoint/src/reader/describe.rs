//! Values that are no tensors, in words.

use crate::error::one_line;
use crate::pickle::{Call, Graph, Node, NodeId, Object};
use crate::torch::TorchObject;

/// A short phrase for a value, on one line whatever the names in it hold.
pub(super) fn describe(object: &TorchObject, id: NodeId) -> String {
    one_line(&in_words(object, id))
}

fn in_words(object: &TorchObject, id: NodeId) -> String {
    let graph = object.graph();
    if let Some(info) = object.storage_info(id) {
        return format!("a storage of {} bytes", info.range.len());
    }
    numpy(graph, id)
        .or_else(|| torch_value(graph, id))
        .unwrap_or_else(|| match graph.node(id) {
            Node::Object(made) => match class(graph, made) {
                // A class that a legacy file has with its source text is known to the view alone.
                Some((module, name)) if matches!(made.call, Call::New { .. }) => {
                    format!("an object of `{module}.{name}`")
                }
                _ => graph.describe(id),
            },
            _ => graph.describe(id),
        })
}

/// The class of an object; of one of PyTorch's C++ part, the name that it has there.
fn class<'a>(graph: &'a Graph, made: &Object) -> Option<(&'a str, &'a str)> {
    match super::view::script_object(graph, made) {
        Some((_, name)) => name.rsplit_once('.'),
        None => super::view::class(graph, made),
    }
}

/// A small value of PyTorch's, as Python shows it: a size, a device.
fn torch_value(graph: &Graph, id: NodeId) -> Option<String> {
    if let Some(("torch", name)) = graph.global(id) {
        return Some(format!("`torch.{name}`"));
    }
    let (callable, args) = reduced(graph, id)?;
    match (callable, args) {
        (("torch", "Size"), &[sizes]) => {
            let sizes: Option<Vec<i64>> = graph
                .sequence(sizes)?
                .iter()
                .map(|&id| graph.int(id))
                .collect();
            Some(format!("`torch.Size({:?})`", sizes?))
        }
        (("torch", "device"), &[kind]) => Some(format!("the device `{}`", graph.text(kind)?)),
        (("torch", "device"), &[kind, index]) => Some(format!(
            "the device `{}:{}`",
            graph.text(kind)?,
            graph.int(index)?
        )),
        _ => None,
    }
}

/// An array, a scalar or a dtype of NumPy's.
fn numpy(graph: &Graph, id: NodeId) -> Option<String> {
    let ((module, name), args) = reduced(graph, id)?;
    match (module, name) {
        ("numpy", "dtype") => Some(format!("the NumPy dtype `{}`", dtype(graph, id)?)),
        ("numpy.core.multiarray" | "numpy._core.multiarray", "scalar") => {
            let dtype = args.first().and_then(|&id| dtype(graph, id));
            Some(format!("a NumPy scalar of {}", dtype_name(dtype)))
        }
        ("numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct") => {
            // (version, shape, dtype, is Fortran order, content)
            let state = graph.sequence(graph.object(id)?.state?)?;
            array(graph, *state.get(1)?, *state.get(2)?)
        }
        ("numpy.core.numeric" | "numpy._core.numeric", "_frombuffer") => {
            // (buffer, dtype, shape, order)
            array(graph, *args.get(2)?, *args.get(1)?)
        }
        _ => None,
    }
}

fn array(graph: &Graph, shape: NodeId, of: NodeId) -> Option<String> {
    let shape: Option<Vec<i64>> = graph
        .sequence(shape)?
        .iter()
        .map(|&id| graph.int(id))
        .collect();
    Some(format!(
        "a NumPy array of {} with shape {:?}",
        dtype_name(dtype(graph, of)),
        shape?
    ))
}

fn dtype_name(dtype: Option<String>) -> String {
    dtype.map_or_else(
        || "a dtype of its own".to_owned(),
        |dtype| format!("`{dtype}`"),
    )
}

/// NumPy's text for a dtype, with its byte order in front where it has one: `<f4`.
fn dtype(graph: &Graph, id: NodeId) -> Option<String> {
    match reduced(graph, id)? {
        (("numpy", "dtype"), &[text, ..]) => {
            let state = graph.object(id)?.state;
            let order = state
                .and_then(|state| graph.sequence(state))
                .and_then(|state| state.get(1))
                .and_then(|&order| graph.text(order))
                .unwrap_or_default();
            Some(format!("{order}{}", graph.text(text)?))
        }
        _ => None,
    }
}

/// Function and arguments of a call.
fn reduced(graph: &Graph, id: NodeId) -> Option<((&str, &str), &[NodeId])> {
    match graph.object(id)?.call {
        Call::Reduce { callable, args } => Some((graph.global(callable)?, graph.sequence(args)?)),
        _ => None,
    }
}
