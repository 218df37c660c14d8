//! Notes for the user about a conversion that succeeded.

use crate::error::names_in_words;
use crate::pickle::Graph;
use crate::torch::TensorInfo;
use crate::{CheckpointReader, TensorClass, TensorEntry};

/// Names that a note shows.
const SHOWN: usize = 4;

/// The losses of a target that has tensors by their names alone.
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
    let flattened = reader
        .non_tensors()
        .iter()
        .filter(|other| other.is_flattened());
    let flattened: Vec<&str> = flattened.map(|other| other.path()).collect();
    notes.extend(listed(&flattened).map(|names| {
        format!("{names}: the class has no place in the target, where its parts are tensors of their own")
    }));
    let attributes = named(reader, |info| info.attributes.is_some());
    let subclasses = named(reader, |info| info.class == TensorClass::Subclass);
    notes.extend(told(&attributes, "attributes set on"));
    notes.extend(told(&subclasses, "the Python class of"));
    notes
}

/// The arrays of NumPy that become tensors in a structure that is kept.
pub(super) fn of_arrays(reader: &CheckpointReader) -> Option<String> {
    let entries = reader.tensors().iter();
    let arrays: Vec<&str> = entries
        .filter(|entry| entry.is_array())
        .map(TensorEntry::name)
        .collect();
    Some(format!(
        "{} were arrays of NumPy and are tensors in the target",
        listed(&arrays)?
    ))
}

/// The values that a cast leaves as they are, or removes, in a structure that is kept.
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
    let attributes = named(reader, |info| info.attributes.is_some());
    notes.extend(told(&attributes, "attributes set on"));
    notes
}

/// The names of the tensors of which something holds.
fn named(reader: &CheckpointReader, holds: impl Fn(&TensorInfo) -> bool) -> Vec<&str> {
    let entries = reader.tensors().iter();
    entries
        .filter(|entry| entry.info().is_some_and(&holds))
        .map(TensorEntry::name)
        .collect()
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
    (!names.is_empty()).then(|| names_in_words(names, SHOWN))
}
