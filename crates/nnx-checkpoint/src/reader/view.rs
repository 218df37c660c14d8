//! What lies below an object of a graph, and under which names.

mod module;
mod object;

use crate::pickle::{Call, Graph, Node, NodeId, Object};

/// An object below another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Child {
    /// The part of the name that leads to it.
    pub(super) key: String,
    pub(super) id: NodeId,
    /// Whether tensors there are no tensors of the checkpoint, because the `state_dict()` of their
    /// module would leave them out.
    pub(super) aside: bool,
}

impl Child {
    fn new(key: impl Into<String>, id: NodeId) -> Self {
        Self {
            key: key.into(),
            id,
            aside: false,
        }
    }
}

/// The objects below one, in the order of the file; none for one that nothing lies below.
pub(super) fn children(graph: &Graph, id: NodeId) -> Vec<Child> {
    match graph.node(id) {
        Node::Tuple(items) | Node::FrozenSet(items) => indexed(items),
        Node::List(items) | Node::Set(items) => indexed(items),
        Node::Dict(pairs) => keyed(graph, pairs),
        Node::Object(made) => {
            module::children(graph, made).unwrap_or_else(|| object::children(graph, made))
        }
        _ => Vec::new(),
    }
}

/// Whether an object is walked even when no tensor lies below it, as mappings are, and sequences
/// unless all their items are plain. Others are told in one line.
pub(super) fn is_open(graph: &Graph, id: NodeId) -> bool {
    match graph.node(id) {
        Node::Tuple(items) | Node::FrozenSet(items) => !are_plain(graph, items),
        Node::List(items) | Node::Set(items) => !are_plain(graph, items),
        Node::Dict(pairs) => !pairs.is_empty(),
        Node::Object(made) => object::is_mapping(graph, made),
        _ => false,
    }
}

/// Whether nothing lies below any of the items.
fn are_plain(graph: &Graph, items: &[NodeId]) -> bool {
    items.iter().all(|&id| {
        !matches!(
            graph.node(id),
            Node::Tuple(_)
                | Node::List(_)
                | Node::Set(_)
                | Node::FrozenSet(_)
                | Node::Dict(_)
                | Node::Object(_)
        )
    })
}

/// What a wrapper of TorchScript's stands for: a list of a known element type, or a value whose
/// type is written beside it.
pub(super) fn unwrapped(graph: &Graph, id: NodeId) -> NodeId {
    let inner = || {
        let Call::Reduce { callable, args } = graph.object(id)?.call else {
            return None;
        };
        match (graph.global(callable)?, graph.sequence(args)?) {
            (
                (
                    "torch.jit._pickle",
                    "build_boollist" | "build_doublelist" | "build_intlist" | "build_tensorlist",
                ),
                &[list],
            ) => Some(list),
            (("torch.jit._pickle", "restore_type_tag"), &[value, _]) => Some(value),
            _ => None,
        }
    };
    inner().unwrap_or(id)
}

fn indexed(items: &[NodeId]) -> Vec<Child> {
    items
        .iter()
        .enumerate()
        .map(|(index, &id)| Child::new(index.to_string(), id))
        .collect()
}

fn keyed(graph: &Graph, pairs: &[(NodeId, NodeId)]) -> Vec<Child> {
    pairs
        .iter()
        .enumerate()
        .map(|(index, &(name, id))| Child::new(key(graph, name, index), id))
        .collect()
}

/// A mapping's key as a part of a name: texts as they are, numbers in decimal, and anything else in
/// words, with its place among the keys, so that two of them differ.
fn key(graph: &Graph, id: NodeId, index: usize) -> String {
    if let Some(text) = graph.text(id) {
        return text.to_owned();
    }
    match graph.node(id) {
        Node::Int(value) => value.to_string(),
        Node::Bool(true) => "True".to_owned(),
        Node::Bool(false) => "False".to_owned(),
        Node::None => "None".to_owned(),
        _ => format!("<{}: key {index}>", graph.describe(id)),
    }
}

/// The class of what a call makes: module and name.
pub(super) fn class<'a>(graph: &'a Graph, object: &Object) -> Option<(&'a str, &'a str)> {
    match object.call {
        Call::Reduce { callable, args } => match global(graph, callable) {
            // Protocols 0 and 1 make ordinary objects so: `_reconstructor(class, base, state)`.
            Some(("copyreg" | "copy_reg", "_reconstructor")) => graph
                .sequence(args)
                .and_then(|args| args.first())
                .and_then(|&class| global(graph, class)),
            other => other,
        },
        Call::New { class, .. } | Call::NewEx { class, .. } | Call::Instance { class, .. } => {
            global(graph, class)
        }
    }
}

/// Module and name of a class, also where a legacy file has it with its source text:
/// `('module', class, file, text)`.
fn global(graph: &Graph, id: NodeId) -> Option<(&str, &str)> {
    match graph.persistent(id) {
        Some(pid) => match graph.sequence(pid)? {
            &[kind, class, ..] if graph.text(kind) == Some("module") => graph.global(class),
            _ => None,
        },
        None => graph.global(id),
    }
}
