//! Tensors that were pickled without `torch.save`.
//!
//! Their storages are calls of `torch.storage._load_from_bytes`, which gives its argument to
//! `torch.load`. If that is a legacy stream, unpickling it runs the names in its pickles, and those
//! are looked at like all bytes within a pickle.

use std::collections::{HashMap, HashSet};

use crate::globals::LOADS_BYTES;
use crate::pickle::{self, Call, Graph, Node, NodeId};
use crate::{Format, Limits, sniff};

/// The pickles of a legacy stream: magic, version, sizes of integers, the object, keys of storages.
const PICKLES: usize = 5;

/// The places where the function is named and used for nothing but this.
pub(super) fn only_restored(graph: &Graph, limits: &Limits) -> HashSet<NodeId> {
    let named = |id: &NodeId| graph.global(*id) == Some(LOADS_BYTES);
    let mut restored: HashSet<NodeId> = graph.ids().filter(named).collect();
    if restored.is_empty() {
        return restored;
    }
    // One that nothing uses is there for another reason.
    let mut used = HashSet::new();
    // Many calls may share one argument.
    let mut judged = HashMap::new();
    for (id, node) in graph.nodes() {
        let callable = loaded(graph, node).and_then(|(callable, argument)| {
            let is_legacy = judged
                .entry(argument)
                .or_insert_with(|| is_legacy_stream(graph, argument, limits));
            is_legacy.then_some(callable)
        });
        graph.each_member(id, |member| {
            used.insert(member);
            if callable != Some(member) {
                restored.remove(&member);
            }
        });
    }
    restored.retain(|id| used.contains(id));
    restored
}

/// Function and argument, if the node calls the function.
fn loaded(graph: &Graph, node: &Node) -> Option<(NodeId, NodeId)> {
    let Node::Object(object) = node else {
        return None;
    };
    let Call::Reduce { callable, args } = object.call else {
        return None;
    };
    if graph.global(callable)? != LOADS_BYTES {
        return None;
    }
    match graph.sequence(args)? {
        &[argument] => Some((callable, argument)),
        _ => None,
    }
}

/// Whether the object is a legacy stream, and nothing else by the time of the call.
fn is_legacy_stream(graph: &Graph, id: NodeId, limits: &Limits) -> bool {
    graph.changes(id).is_empty()
        && graph
            .binary(id)
            .is_some_and(|bytes| is_legacy(&bytes, limits))
}

/// Whether `torch.load` finds five pickles in the bytes, and nothing else to unpickle.
fn is_legacy(bytes: &[u8], limits: &Limits) -> bool {
    if sniff(bytes) != Some(Format::TorchLegacy) {
        return false;
    }
    let mut rest = bytes;
    (0..PICKLES).all(|_| match pickle::read(rest, limits) {
        Ok((_, consumed)) => {
            rest = rest.get(consumed..).unwrap_or_default();
            true
        }
        Err(_) => false,
    })
}
