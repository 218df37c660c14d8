//! Tensors that were pickled without `torch.save`.
//!
//! Their storages are calls of `torch.storage._load_from_bytes`, which gives its argument to
//! `torch.load`. If that is a legacy stream, what unpickling it runs is what its pickles name, and
//! those are looked at like all bytes within a pickle.

use std::collections::HashSet;

use nnx::checkpoint::pickle::{self, Call, Graph, Node, NodeId};
use nnx::checkpoint::{Format, Limits, sniff};

const LOADS_BYTES: (&str, &str) = ("torch.storage", "_load_from_bytes");
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
    for (id, node) in graph.nodes() {
        let callable = callable(graph, node, limits);
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

/// What the node calls, if it gives it a legacy stream and nothing else.
fn callable(graph: &Graph, node: &Node, limits: &Limits) -> Option<NodeId> {
    let Node::Object(object) = node else {
        return None;
    };
    let Call::Reduce { callable, args } = object.call else {
        return None;
    };
    if graph.global(callable)? != LOADS_BYTES {
        return None;
    }
    let [argument] = graph.sequence(args)? else {
        return None;
    };
    // Bytes that the pickle changes later are others by the time of the call.
    if !graph.changes(*argument).is_empty() {
        return None;
    }
    is_legacy(&graph.binary(*argument)?, limits).then_some(callable)
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
