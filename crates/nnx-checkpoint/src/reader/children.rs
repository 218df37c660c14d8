//! The objects below an object of a graph, and their names.

mod module;
mod object;
mod quantized;
mod visit_cost;

pub(super) use self::object::{has_attributes, pairs};
pub(super) use self::quantized::script_object;
pub(super) use self::visit_cost::visit_cost;

use std::borrow::Cow;

use super::number;
use crate::pickle::{Call, Graph, Node, NodeId, Object};

/// Arguments of a mapping's class that can hold its pairs: `OrderedDict(pairs)`,
/// `defaultdict(factory, pairs)`.
const MAPPINGS: usize = 2;

/// An object below another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Child<'a> {
    /// The part of the name that leads to it.
    pub(super) key: Cow<'a, str>,
    pub(super) id: NodeId,
    pub(super) role: Role,
}

/// The role of an object in the `state_dict()` of the module that it is below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Role {
    /// It is part of it, as everything is that is below no module.
    Persistent,
    /// It is part of it, as a tensor that is made of the number.
    ScalarTensor,
    /// `state_dict()` leaves it out, so that a tensor in it is no tensor of the checkpoint.
    NonPersistent,
}

impl<'a> Child<'a> {
    fn new(key: impl Into<Cow<'a, str>>, id: NodeId) -> Self {
        Self::with_role(key, id, Role::Persistent)
    }

    /// Whether it is a number that is listed as a tensor.
    pub(super) fn is_number(&self, graph: &Graph) -> bool {
        self.role == Role::ScalarTensor && number::dtype(graph.node(self.id)).is_some()
    }

    fn with_role(key: impl Into<Cow<'a, str>>, id: NodeId, role: Role) -> Self {
        Self {
            key: key.into(),
            id,
            role,
        }
    }
}

/// The objects below one, in the order of the file; none for a plain value, and for a sequence whose
/// items are all plain, however long it is.
pub(super) fn below(graph: &Graph, id: NodeId) -> Vec<Child<'_>> {
    match graph.node(id) {
        Node::Tuple(items) | Node::FrozenSet(items) => unless_plain(graph, items),
        Node::List(items) | Node::Set(items) => unless_plain(graph, items),
        Node::Dict(pairs) => keyed(graph, pairs),
        Node::Object(made) => {
            if let Some((state, _)) = script_object(graph, made) {
                return script_members(graph, state);
            }
            module::children(graph, made).unwrap_or_else(|| object::children(graph, made))
        }
        _ => Vec::new(),
    }
}

/// The objects below one of PyTorch's C++ part: the members of its state, or the state itself
/// where it has none.
fn script_members(graph: &Graph, state: NodeId) -> Vec<Child<'_>> {
    match graph.node(state) {
        Node::Tuple(items) => unless_plain(graph, items),
        Node::List(items) => unless_plain(graph, items),
        Node::Dict(pairs) => keyed(graph, pairs),
        node if is_plain(node) => Vec::new(),
        _ => vec![Child::new("state", state)],
    }
}

/// The objects below a tensor of a Python class that keeps its elements in attributes: the values of
/// its state, which is its dict, or a pair of its dict and its slots.
pub(super) fn attributes_of_tensor(graph: &Graph, state: NodeId) -> Vec<Child<'_>> {
    let parts = match graph.node(state) {
        Node::Tuple(parts) => parts,
        _ => &[state][..],
    };
    let pairs = parts.iter().filter_map(|&part| graph.dict_pairs(part));
    pairs.flat_map(|pairs| keyed(graph, pairs)).collect()
}

/// Whether an object is walked even when no tensor is below it, as mappings and sequences are.
/// Others are told in one line.
pub(super) fn is_open(graph: &Graph, id: NodeId) -> bool {
    match graph.node(id) {
        Node::Object(made) => object::is_mapping(graph, made),
        _ => true,
    }
}

/// Whether an object has no others below it.
pub(super) fn is_plain(node: &Node) -> bool {
    !matches!(
        node,
        Node::Tuple(_)
            | Node::List(_)
            | Node::Set(_)
            | Node::FrozenSet(_)
            | Node::Dict(_)
            | Node::Object(_)
    )
}

fn unless_plain<'a>(graph: &'a Graph, items: &[NodeId]) -> Vec<Child<'a>> {
    if items.iter().all(|&id| is_plain(graph.node(id))) {
        Vec::new()
    } else {
        indexed(items)
    }
}

/// The value in a wrapper of TorchScript's: a list of a known element type, or a value whose
/// type is written beside it.
pub(super) fn unwrapped(graph: &Graph, id: NodeId) -> NodeId {
    match graph.reduce(id) {
        Some((
            (
                "torch.jit._pickle",
                "build_boollist" | "build_doublelist" | "build_intlist" | "build_tensorlist",
            ),
            &[list],
        )) => list,
        Some((("torch.jit._pickle", "restore_type_tag"), &[value, _])) => value,
        _ => id,
    }
}

fn indexed<'a>(items: &[NodeId]) -> Vec<Child<'a>> {
    items
        .iter()
        .enumerate()
        .map(|(index, &id)| Child::new(index.to_string(), id))
        .collect()
}

fn keyed<'a>(graph: &'a Graph, pairs: &[(NodeId, NodeId)]) -> Vec<Child<'a>> {
    pairs
        .iter()
        .enumerate()
        .map(|(index, &(name, id))| Child::new(key(graph, name, index), id))
        .collect()
}

/// A mapping's key as a part of a name: texts as they are, numbers in decimal, and anything else in
/// words, with its place among the keys, so that two of them differ.
///
/// A byte string of Python 2 that is no UTF-8 is decoded as Latin-1, as it is for whoever reads such
/// a file in Python 3 with `encoding='latin1'`.
pub(super) fn key(graph: &Graph, id: NodeId, index: usize) -> Cow<'_, str> {
    if let Some(text) = graph.text(id) {
        return text.into();
    }
    match graph.node(id) {
        Node::ByteString(bytes) => latin1(bytes).into(),
        Node::Bytes(bytes) if std::str::from_utf8(bytes).is_ok() => String::from_utf8_lossy(bytes),
        Node::Int(value) => value.to_string().into(),
        Node::Bool(true) => "True".into(),
        Node::Bool(false) => "False".into(),
        Node::None => "None".into(),
        _ => format!("<{}: key {index}>", graph.describe(id)).into(),
    }
}

fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

/// How many keys of mappings are byte strings that are decoded as Latin-1.
pub(super) fn latin1_keys(graph: &Graph) -> usize {
    let is_latin1 = |node: &Node| matches!(node, Node::ByteString(bytes) if std::str::from_utf8(bytes).is_err());
    // Nearly no file has such a text, which is quickly seen.
    if !graph.nodes().any(|(_, node)| is_latin1(node)) {
        return 0;
    }
    let pairs = graph.nodes().filter_map(|(_, node)| match node {
        Node::Dict(pairs) => Some(pairs),
        Node::Object(object) => Some(&object.pairs),
        _ => None,
    });
    pairs
        .flatten()
        .filter(|(key, _)| is_latin1(graph.node(*key)))
        .count()
}

/// The class of the object that a call makes: module and name.
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
