//! The cost of a visit: how much is looked at to find the objects below one.

use crate::pickle::{Call, Graph, Node, NodeId};

/// How many members [`below`](super::below) looks at for one object, as far as others can share them:
/// many objects can have one tuple of arguments or one state in common, which is looked through for
/// each of them.
pub(in crate::reader) fn visit_cost(graph: &Graph, id: NodeId) -> u64 {
    let Some(object) = graph.object(id) else {
        return members(graph, id);
    };
    let (args, kwargs) = match &object.call {
        Call::Reduce { args, .. } | Call::New { args, .. } => (Some(*args), None),
        Call::NewEx { args, kwargs, .. } => (Some(*args), Some(*kwargs)),
        Call::Instance { .. } => (None, None),
    };
    let arguments = args.and_then(|args| graph.sequence(args));
    let mappings = arguments.unwrap_or_default().iter().take(super::MAPPINGS);
    let mut found = members(graph, id);
    for part in args.into_iter().chain(kwargs).chain(mappings.copied()) {
        found = found.saturating_add(members(graph, part));
    }
    let state = super::module::state(graph, object).map(|(state, _)| state);
    let Some(state) = object.state.or(state) else {
        return found;
    };
    found = found.saturating_add(members(graph, state));
    let mut add = |part| found = found.saturating_add(members(graph, part));
    match graph.node(state) {
        // Attributes and slots, or what an object of PyTorch's C++ part holds and its class.
        Node::Tuple(both) if both.len() == 2 => both.iter().copied().for_each(add),
        Node::Dict(_) | Node::Object(_) => {
            for holder in super::module::HOLDERS {
                if let Some(held) = graph.get(state, holder) {
                    add(held);
                    super::module::set_argument(graph, held).map(&mut add);
                }
            }
        }
        _ => {}
    }
    found
}

/// How many members an object has of its own.
fn members(graph: &Graph, id: NodeId) -> u64 {
    let count = match graph.node(id) {
        Node::Tuple(items) | Node::FrozenSet(items) => items.len(),
        Node::List(items) | Node::Set(items) => items.len(),
        Node::Dict(pairs) => pairs.len(),
        Node::Object(object) => object.items.len().saturating_add(object.pairs.len()),
        _ => 0,
    };
    count as u64
}
