//! What a user should know of a conversion that went well.

use crate::pickle::Graph;
use crate::{CheckpointReader, TensorClass};

/// Names that a note shows.
const SHOWN: usize = 4;

/// What is lost where tensors are written by their names alone.
pub(super) fn of_tensors_alone(reader: &CheckpointReader) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(object) = reader.object() else {
        return notes;
    };
    let graph = object.graph();
    if has_versions(graph) {
        notes.push(
            "the versions of the modules (`_metadata`) have no place in the target".to_owned(),
        );
    }
    let mut attributes = Vec::new();
    let mut subclasses = Vec::new();
    for entry in reader.tensors() {
        let info = entry.node().map(|node| object.tensor_info(node));
        let Some(Ok(Some(info))) = info else {
            continue;
        };
        if info.attributes.is_some() {
            attributes.push(entry.name());
        }
        if info.class == TensorClass::Subclass {
            subclasses.push(entry.name());
        }
    }
    notes.extend(told(&attributes, "attributes set on"));
    notes.extend(told(&subclasses, "the Python class of"));
    notes
}

/// What a cast leaves as it is, or takes away, in a structure that is kept.
pub(super) fn of_cast(reader: &CheckpointReader) -> Vec<String> {
    let mut notes = Vec::new();
    let others: Vec<&str> = reader
        .tensors()
        .iter()
        .filter(|entry| entry.dtype().is_floating_point() && entry.layout_name() != "strided")
        .map(|entry| entry.name())
        .collect();
    notes.extend(listed(&others).map(|names| {
        format!("{names} keep their dtype, as their elements lie in parts or in attributes")
    }));
    let attributes: Vec<&str> = reader
        .tensors()
        .iter()
        .filter(|entry| {
            let info = entry
                .node()
                .and_then(|node| reader.object()?.tensor_info(node).ok()?);
            info.is_some_and(|info| info.attributes.is_some())
        })
        .map(|entry| entry.name())
        .collect();
    notes.extend(told(&attributes, "attributes set on"));
    notes
}

/// Whether the root is a state dict with the versions of its modules.
fn has_versions(graph: &Graph) -> bool {
    graph
        .object(graph.root())
        .and_then(|object| object.state)
        .is_some_and(|state| graph.get(state, "_metadata").is_some())
}

fn told(names: &[&str], what: &str) -> Option<String> {
    Some(format!(
        "{what} {} have no place in the target",
        listed(names)?
    ))
}

fn listed(names: &[&str]) -> Option<String> {
    let shown: Vec<String> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = match names.len().saturating_sub(shown.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| format!("{}{more}", shown.join(", ")))
}
