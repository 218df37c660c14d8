//! When two things that were read are the same.

use std::collections::{HashMap, HashSet};

use nnx_checkpoint::pickle::{Call, Change, Graph, Node, NodeId};
use nnx_checkpoint::{Limits, Tensor};

/// Compares what two graphs' roots reach: values and identities. Returns which object is which.
///
/// # Panics
/// When they differ.
pub(crate) fn graphs(one: &Graph, other: &Graph) -> HashMap<NodeId, NodeId> {
    compared(one, other, None)
}

/// The same for an object and the PyTorch file that was written of it: a writer numbers storages in
/// the order of the pickle, so that their keys may change, each to another one.
///
/// # Panics
/// When they differ in anything else.
pub(crate) fn written_graphs(one: &Graph, other: &Graph) -> HashMap<NodeId, NodeId> {
    compared(one, other, Some(StorageKeys::default()))
}

/// The key that each key of a storage became.
#[derive(Default)]
struct StorageKeys {
    there: HashMap<String, String>,
    back: HashMap<String, String>,
}

impl StorageKeys {
    /// The members of two persistent ids without the keys, once those are found to correspond.
    fn without_keys(&mut self, one: &Graph, other: &Graph, ids: [NodeId; 2]) -> Vec<[NodeId; 2]> {
        let [left, right] = [members(one, ids[0]), members(other, ids[1])];
        let is_storage = left.first().and_then(|kind| one.text(*kind)) == Some("storage");
        let pairs = left.into_iter().zip(right).enumerate();
        let kept = pairs.filter(|(at, (a, b))| {
            let (Some(from), Some(to)) = (one.text(*a), other.text(*b)) else {
                return true;
            };
            // An id of anything else keeps all that it says.
            if *at != KEY_AT || !is_storage {
                return true;
            }
            let known = self
                .there
                .entry(from.to_owned())
                .or_insert_with(|| to.to_owned());
            assert_eq!(known, to, "the storage `{from}` became two");
            let known = self
                .back
                .entry(to.to_owned())
                .or_insert_with(|| from.to_owned());
            assert_eq!(known, from, "two storages became `{to}`");
            false
        });
        kept.map(|(_, (a, b))| [a, b]).collect()
    }
}

/// Where the key is in PyTorch's persistent id of a storage: `("storage", class, key, device, …)`.
const KEY_AT: usize = 2;

fn compared(one: &Graph, other: &Graph, mut keys: Option<StorageKeys>) -> HashMap<NodeId, NodeId> {
    let mut there = HashMap::new();
    let mut back = HashMap::new();
    let mut persistent = HashSet::new();
    let mut waiting = vec![(one.root(), other.root())];
    while let Some((a, b)) = waiting.pop() {
        let (left, right) = (one.node(a), other.node(b));
        if is_atom(left) {
            // These have no identity: a pickle repeats them.
            assert!(same_leaf(left, right), "{left:?} became {right:?}");
            continue;
        }
        if let (Node::Persistent(_), Node::Persistent(_)) = (left, right) {
            // A pickler spells these out at every use, so that they have no identity either.
            if persistent.insert((a, b)) {
                let ids = members(one, a).into_iter().zip(members(other, b));
                for (a, b) in ids {
                    let are_tuples = matches!(
                        (one.node(a), other.node(b)),
                        (Node::Tuple(_), Node::Tuple(_))
                    );
                    match &mut keys {
                        Some(keys) if are_tuples => {
                            assert_eq!(members(one, a).len(), members(other, b).len());
                            let rest = keys.without_keys(one, other, [a, b]);
                            waiting.extend(rest.into_iter().map(|[a, b]| (a, b)));
                        }
                        _ => waiting.push((a, b)),
                    }
                }
            }
            continue;
        }
        match (there.get(&a), back.get(&b)) {
            (None, None) => {}
            (known, reverse) => {
                let same = known == Some(&b) && reverse == Some(&a);
                assert!(same, "{} is shared otherwise", one.describe(a));
                continue;
            }
        }
        there.insert(a, b);
        back.insert(b, a);
        if same_leaf(left, right) && members(one, a).is_empty() && members(other, b).is_empty() {
            continue;
        }
        let (form, other_form) = (form(one, a), form(other, b));
        assert_eq!(form, other_form, "{} changed its form", one.describe(a));
        let (ours, theirs) = (members(one, a), members(other, b));
        assert_eq!(
            ours.len(),
            theirs.len(),
            "{} changed its length",
            one.describe(a)
        );
        waiting.extend(ours.into_iter().zip(theirs));
    }
    there
}

fn is_atom(node: &Node) -> bool {
    match node {
        Node::None | Node::Bool(_) | Node::Int(_) | Node::BigInt(_) | Node::Float(_) => true,
        Node::Extension(_) => true,
        Node::Tuple(items) => items.is_empty(),
        _ => false,
    }
}

fn same_leaf(one: &Node, other: &Node) -> bool {
    match (one, other) {
        (Node::Float(one), Node::Float(other)) => one.to_bits() == other.to_bits(),
        _ => one == other,
    }
}

fn members(graph: &Graph, id: NodeId) -> Vec<NodeId> {
    let mut members = Vec::new();
    graph.each_member(id, |member| members.push(member));
    members
}

/// An object without the ids of its members.
fn form(graph: &Graph, id: NodeId) -> String {
    let node = graph.node(id);
    let own = match node {
        Node::Tuple(items) | Node::FrozenSet(items) => format!("{}", items.len()),
        Node::List(items) | Node::Set(items) => format!("{}", items.len()),
        Node::Dict(pairs) => format!("{}", pairs.len()),
        Node::Persistent(_) => String::new(),
        Node::Object(object) => {
            let arguments = match &object.call {
                Call::Instance { args, .. } => args.len(),
                _ => 0,
            };
            format!(
                "{:?} {arguments} {} {} {}",
                std::mem::discriminant(&object.call),
                object.items.len(),
                object.pairs.len(),
                object.state.is_some()
            )
        }
        leaf => format!("{leaf:?}"),
    };
    let changes = graph.changes(id).iter().map(|change| match change {
        Change::Build(_) => "build ",
        Change::Call { .. } => "call ",
    });
    let kind = std::mem::discriminant(node);
    format!("{kind:?} {own} {}", changes.collect::<String>())
}

/// Compares all that two tensors say of themselves, their bytes included.
///
/// # Panics
/// When they differ.
#[track_caller]
pub(crate) fn tensors(name: &str, one: &Tensor, other: &Tensor, limits: &Limits) {
    values(name, one, other, limits);
    assert_eq!(one.strides(), other.strides(), "strides of {name:?}");
    assert_eq!(one.offset(), other.offset(), "offset of {name:?}");
    assert_eq!(one.class(), other.class(), "class of {name:?}");
    assert_eq!(
        one.requires_grad(),
        other.requires_grad(),
        "requires_grad of {name:?}"
    );
    assert_eq!(
        one.storage().location(),
        other.storage().location(),
        "location of {name:?}"
    );
    assert_eq!(
        one.storage()
            .bytes()
            .expect("a tensor that was given was read"),
        other
            .storage()
            .bytes()
            .expect("a tensor that was given was read"),
        "storage of {name:?}"
    );
}

/// Compares dtype, shape and elements.
///
/// # Panics
/// When they differ.
#[track_caller]
pub(crate) fn values(name: &str, one: &Tensor, other: &Tensor, limits: &Limits) {
    assert_eq!(one.dtype(), other.dtype(), "dtype of {name:?}");
    assert_eq!(one.shape(), other.shape(), "shape of {name:?}");
    let bytes = |tensor: &Tensor| {
        let bytes = tensor.to_bytes_within(limits).ok()?;
        assert_eq!(bytes.len(), tensor.byte_len(), "bytes of {name:?}");
        Some(bytes.into_owned())
    };
    if let (Some(one), Some(other)) = (bytes(one), bytes(other)) {
        assert!(one == other, "the elements of {name:?} differ");
    }
}
