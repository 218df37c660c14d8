//! Values that are no tensors, in words.

use crate::error::{one_line, shown, shown_path};
use crate::pickle::{Call, Graph, NodeId};
use crate::torch::TorchObject;

/// Sizes that are shown of a shape; more are not.
const MAX_SIZES: usize = 64;

/// A short phrase for a value, on one line whatever the names in it hold.
pub(super) fn describe(object: &TorchObject, id: NodeId) -> String {
    one_line(&in_words(object, id))
}

fn in_words(object: &TorchObject, id: NodeId) -> String {
    let graph = object.graph();
    if let Some(len) = object.storage_len(id) {
        return format!("a storage of {len} bytes");
    }
    numpy_value(graph, id)
        .or_else(|| torch_value(graph, id))
        .or_else(|| object_in_words(graph, id))
        .unwrap_or_else(|| graph.describe(id))
}

/// An object by its class, where the view alone knows that.
fn object_in_words(graph: &Graph, id: NodeId) -> Option<String> {
    let made = graph.object(id)?;
    if let Some((_, name)) = super::children::script_object(graph, made) {
        return Some(format!("an object of `{}`", shown(name)));
    }
    match made.call {
        // A legacy file may have the class with its source text.
        Call::New { .. } => {
            let (module, name) = super::children::class(graph, made)?;
            Some(format!("an object of `{}`", shown_path(module, name)))
        }
        _ => None,
    }
}

/// A shape, unless it is longer than those of tensors: very many objects may share one.
fn sizes(graph: &Graph, id: NodeId) -> Option<Vec<i64>> {
    let sizes = graph
        .sequence(id)
        .filter(|sizes| sizes.len() <= MAX_SIZES)?;
    sizes.iter().map(|&id| graph.int(id)).collect()
}

/// A small value of PyTorch's, as Python shows it: a size, a device.
fn torch_value(graph: &Graph, id: NodeId) -> Option<String> {
    if let Some(("torch", name)) = graph.global(id) {
        return Some(format!("`torch.{}`", shown(name)));
    }
    let (callable, args) = graph.reduce(id)?;
    match (callable, args) {
        (("torch", "Size"), &[members]) => {
            Some(format!("`torch.Size({:?})`", sizes(graph, members)?))
        }
        (("torch", "device"), &[kind]) => {
            Some(format!("the device `{}`", shown(graph.text(kind)?)))
        }
        (("torch", "device"), &[kind, index]) => Some(format!(
            "the device `{}:{}`",
            shown(graph.text(kind)?),
            graph.int(index)?
        )),
        _ => None,
    }
}

/// An array, a scalar or a dtype of NumPy's.
fn numpy_value(graph: &Graph, id: NodeId) -> Option<String> {
    let ((module, name), args) = graph.reduce(id)?;
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
    Some(format!(
        "a NumPy array of {} with shape {:?}",
        dtype_name(dtype(graph, of)),
        sizes(graph, shape)?
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
    match graph.reduce(id)? {
        (("numpy", "dtype"), &[text, ..]) => {
            let state = graph.object(id)?.state;
            let order = state
                .and_then(|state| graph.sequence(state))
                .and_then(|state| state.get(1))
                .and_then(|&order| graph.text(order))
                .unwrap_or_default();
            Some(format!("{}{}", shown(order), shown(graph.text(text)?)))
        }
        _ => None,
    }
}
