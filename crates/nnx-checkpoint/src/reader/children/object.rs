//! Objects of all other classes.

use super::{Child, MAPPINGS, class, indexed, keyed};
use crate::pickle::{Call, Graph, Node, NodeId, Object};
use crate::reader::nn_checkpoint;

/// Attributes of mappings that are no values of theirs: `state_dict()` keeps the versions of its
/// modules so.
const NO_VALUES: &[&str] = &["_metadata"];

/// Whether the object is a mapping: its class is one, or it was filled key by key.
pub(super) fn is_mapping(graph: &Graph, object: &Object) -> bool {
    !object.pairs.is_empty() || is_mapping_class(graph, object)
}

fn is_mapping_class(graph: &Graph, object: &Object) -> bool {
    matches!(
        class(graph, object),
        Some(
            (
                "collections",
                "OrderedDict" | "defaultdict" | "Counter" | "UserDict"
            ) | ("ordereddict", "OrderedDict")
                | ("builtins" | "__builtin__", "dict")
        )
    )
}

/// Whether the object was given attributes by their names.
pub(in crate::reader) fn has_attributes(graph: &Graph, id: NodeId) -> bool {
    let state = graph.object(id).and_then(|object| object.state);
    let is_mapping = |id| graph.dict_pairs(id).is_some();
    state.is_some_and(|state| {
        is_mapping(state)
            || matches!(graph.node(state), Node::Tuple(both) if both.len() == 2
                && both.iter().any(|&part| is_mapping(part))
                && both.iter().all(|&part| graph.is_none(part) || is_mapping(part)))
    })
}

/// The objects below another: the pairs of a mapping, the items of a sequence, its attributes, and
/// what it was made of, as far as that is not among them.
pub(super) fn children<'a>(graph: &'a Graph, object: &Object) -> Vec<Child<'a>> {
    let mut children = made_of(graph, object);
    children.extend(indexed(&object.items));
    children.extend(keyed(graph, &object.pairs));
    if let Some(elements) = elements(graph, object) {
        children.extend(indexed(elements));
    } else if let Some(state) = object.state {
        attributes(graph, object, state, &mut children);
    }
    children
}

/// The elements of an array of objects of NumPy's: its state is
/// `(version, shape, dtype, is column by column, [elements])`.
fn elements<'a>(graph: &'a Graph, object: &Object) -> Option<&'a [NodeId]> {
    let Call::Reduce { callable, .. } = object.call else {
        return None;
    };
    match (graph.global(callable)?, graph.sequence(object.state?)?) {
        (
            ("numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct"),
            &[_, _, _, _, elements],
        ) => match graph.node(elements) {
            Node::List(elements) => Some(elements),
            _ => None,
        },
        _ => None,
    }
}

/// The arguments of the call. A class that is an argument is part of how the object is made.
fn made_of<'a>(graph: &'a Graph, object: &Object) -> Vec<Child<'a>> {
    let (args, kwargs): (&[NodeId], _) = match &object.call {
        Call::Reduce { callable, args } => {
            let args = graph.sequence(*args).unwrap_or_default();
            match graph.global(*callable) {
                Some(("copyreg" | "copy_reg", "_reconstructor")) => {
                    (args.get(2..).unwrap_or_default(), None)
                }
                // `numpy.core.multiarray._reconstruct(ndarray, (0,), b'b')`: a blank to be filled.
                Some((_, "_reconstruct")) => (&[], None),
                _ => (args, None),
            }
        }
        Call::New { args, .. } => (graph.sequence(*args).unwrap_or_default(), None),
        Call::NewEx { args, kwargs, .. } => (
            graph.sequence(*args).unwrap_or_default(),
            graph.dict_pairs(*kwargs),
        ),
        Call::Instance { args, .. } => (args, None),
    };
    if is_mapping_class(graph, object) {
        let args = args.iter().take(MAPPINGS);
        let pairs = args.flat_map(|&id| argument_pairs(graph, id));
        return keyed(graph, &pairs.collect::<Vec<_>>());
    }
    let has_items = !object.items.is_empty()
        || object
            .state
            .is_some_and(|state| graph.sequence(state).is_some());
    let mut children = indexed(args);
    if has_items {
        for child in &mut children {
            child.key.to_mut().insert_str(0, "args.");
        }
    }
    children.retain(|child| !matches!(graph.node(child.id), Node::Global { .. }));
    children.extend(keyed(graph, kwargs.unwrap_or_default()));
    children
}

/// The pairs of a mapping, whichever way it was pickled.
pub(in crate::reader) fn pairs(graph: &Graph, id: NodeId) -> Option<Vec<(NodeId, NodeId)>> {
    match graph.node(id) {
        Node::Dict(pairs) => Some(pairs.clone()),
        Node::Object(object) if is_mapping(graph, object) => {
            let mut all = match object.call {
                Call::Reduce { args, .. } => {
                    let args = graph.sequence(args).unwrap_or_default();
                    args.iter()
                        .take(MAPPINGS)
                        .flat_map(|&argument| argument_pairs(graph, argument))
                        .collect()
                }
                _ => Vec::new(),
            };
            all.extend(&object.pairs);
            Some(all)
        }
        _ => None,
    }
}

/// The pairs of a mapping's argument: a mapping, or a list of lists of two, as Python 2 has it.
fn argument_pairs(graph: &Graph, argument: NodeId) -> Vec<(NodeId, NodeId)> {
    if let Node::Dict(pairs) = graph.node(argument) {
        return pairs.clone();
    }
    graph
        .sequence(argument)
        .unwrap_or_default()
        .iter()
        .filter_map(|&pair| match graph.sequence(pair)? {
            &[key, value] => Some((key, value)),
            _ => None,
        })
        .collect()
}

/// The state that `BUILD` hands to an object: a mapping of attributes, a pair of two such (the second for
/// slots), or whatever its class makes of it.
fn attributes<'a>(graph: &'a Graph, object: &Object, state: NodeId, children: &mut Vec<Child<'a>>) {
    if let Some(pairs) = graph.dict_pairs(state) {
        let attributes = keyed(graph, pairs).into_iter();
        let is_mapping = is_mapping(graph, object);
        children
            .extend(attributes.filter(|child| !is_mapping || !NO_VALUES.contains(&&*child.key)));
        return;
    }
    match graph.node(state) {
        Node::None => {}
        Node::Tuple(both)
            if both.len() == 2
                && both
                    .iter()
                    .all(|&id| graph.is_none(id) || graph.dict_pairs(id).is_some()) =>
        {
            for &id in both {
                children.extend(keyed(graph, graph.dict_pairs(id).unwrap_or_default()));
            }
        }
        Node::Tuple(values) => children.extend(fields(graph, object, values)),
        Node::List(values) => children.extend(fields(graph, object, values)),
        _ => children.push(Child::new("state", state)),
    }
}

/// The values of the fields of an object whose class pickles them as a list. The names of the fields
/// are known of `NNCheckpoint`, the only such class of NNx that may hold tensors.
fn fields<'a>(graph: &'a Graph, object: &Object, values: &[NodeId]) -> Vec<Child<'a>> {
    let mut children = indexed(values);
    if class(graph, object) == Some(nn_checkpoint::CLASS) {
        for (child, name) in children.iter_mut().zip(nn_checkpoint::FIELDS) {
            child.key = (*name).into();
        }
    }
    children
}
