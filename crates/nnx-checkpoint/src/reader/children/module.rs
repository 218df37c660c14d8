//! Pickled modules, named as `torch.nn.Module.state_dict()` names their tensors.

use std::collections::HashSet;

use super::{Child, Role, object, quantized};
use crate::pickle::{Call, Graph, Node, NodeId, Object};

/// Attributes that every module has for its own bookkeeping. Those that say nothing are not listed:
/// an empty mapping, `None`, or whether the module trains.
const BOOKKEEPING: &[&str] = &[
    "_backward_hooks",
    "_backward_pre_hooks",
    "_backend",
    "_forward_hooks",
    "_forward_hooks_always_called",
    "_forward_hooks_with_kwargs",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_is_full_backward_hook",
    "_load_state_dict_post_hooks",
    "_load_state_dict_pre_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "training",
];

/// The names that hold what is listed first.
pub(super) const HOLDERS: [&str; 4] = [
    "_parameters",
    "_buffers",
    "_modules",
    "_non_persistent_buffers_set",
];

/// The objects below a pickled module: its parameters, persistent buffers, additions of its class
/// and child modules, in this order, then, aside, all else. None when the object is no module.
pub(super) fn children<'a>(graph: &'a Graph, module: &Object) -> Option<Vec<Child<'a>>> {
    if let Some(children) = quantized::of_tuple(graph, module) {
        return Some(children);
    }
    let (state, beside) = state(graph, module)?;
    let attribute = |name: &str| graph.get(state, name);
    let held = |name: &str| object::pairs(graph, attribute(name)?);
    let (parameters, buffers, modules) =
        (held("_parameters")?, held("_buffers")?, held("_modules")?);
    let transient: HashSet<&str> = attribute("_non_persistent_buffers_set")
        .map(|set| members(graph, set))
        .unwrap_or_default()
        .into_iter()
        .filter_map(|name| graph.text(name))
        .collect();
    let is_transient = |name: NodeId| {
        graph
            .text(name)
            .is_some_and(|name| transient.contains(name))
    };

    let mut children = Vec::new();
    let named = |pairs: &[(NodeId, NodeId)], role: Role, children: &mut Vec<Child<'a>>| {
        for (index, &(name, id)) in pairs.iter().enumerate() {
            // `register_parameter(name, None)` and its kind: `state_dict()` leaves them out.
            if !graph.is_none(id) {
                children.push(Child::with_role(super::key(graph, name, index), id, role));
            }
        }
    };
    named(&parameters, Role::Persistent, &mut children);
    let (persistent, others): (Vec<_>, Vec<_>) = buffers
        .into_iter()
        .partition(|(name, _)| !is_transient(*name));
    named(&persistent, Role::Persistent, &mut children);
    let added = quantized::add(graph, module, state, &mut children);
    named(&modules, Role::Persistent, &mut children);
    named(&others, Role::NonPersistent, &mut children);
    for (index, &(name, id)) in graph.dict_pairs(state)?.iter().enumerate() {
        let key = super::key(graph, name, index);
        let is_told = HOLDERS.contains(&&*key) || added.contains(&&*key);
        if !is_told && !says_nothing(graph, &key, id) {
            children.push(Child::with_role(key, id, Role::NonPersistent));
        }
    }
    for (index, &(name, id)) in beside.iter().enumerate() {
        if id != state {
            children.push(Child::with_role(
                super::key(graph, name, index),
                id,
                Role::NonPersistent,
            ));
        }
    }
    Some(children)
}

/// The attributes of a module: the state that it is given, or the one that a function rebuilds it
/// from, `rebuild({'state': …, …})`, as the persistent classes of StyleGAN pickle themselves; with
/// the pairs that are beside it then.
pub(super) fn state<'a>(
    graph: &'a Graph,
    module: &Object,
) -> Option<(NodeId, &'a [(NodeId, NodeId)])> {
    if let Some(state) = module.state.filter(|&state| !graph.is_none(state)) {
        return Some((state, &[]));
    }
    let Call::Reduce { args, .. } = module.call else {
        return None;
    };
    match graph.sequence(args)? {
        &[description] => Some((
            graph.get(description, "state")?,
            graph.dict_pairs(description)?,
        )),
        _ => None,
    }
}

fn says_nothing(graph: &Graph, key: &str, id: NodeId) -> bool {
    BOOKKEEPING.contains(&key)
        && (graph.is_none(id)
            || graph.bool(id).is_some()
            || graph.dict_pairs(id).is_some_and(<[_]>::is_empty))
}

/// The members of a set: of its own node, or of a call of `set`.
fn members(graph: &Graph, id: NodeId) -> Vec<NodeId> {
    match graph.node(id) {
        Node::Set(items) => items.clone(),
        Node::Object(object) => {
            let mut found = object.items.clone();
            let list = set_argument(graph, id).and_then(|list| graph.sequence(list));
            found.extend_from_slice(list.unwrap_or_default());
            found
        }
        _ => Vec::new(),
    }
}

/// The one argument of a call of `set`.
pub(super) fn set_argument(graph: &Graph, id: NodeId) -> Option<NodeId> {
    match graph.object(id)?.call {
        Call::Reduce { args, .. } => graph.sequence(args)?.first().copied(),
        _ => None,
    }
}
