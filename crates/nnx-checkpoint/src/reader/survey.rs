//! What a graph holds, looked at once before anything is named.

use std::collections::{HashMap, HashSet};

use super::view::{self, Child};
use crate::pickle::{Graph, Node, NodeId};
use crate::torch::{TensorInfo, TorchObject};

/// The objects below the roots: what lies below each, which are tensors, and which hold one.
#[derive(Debug)]
pub(super) struct Survey {
    children: HashMap<NodeId, Vec<Child>>,
    tensors: HashMap<NodeId, TensorNode>,
    holders: HashSet<NodeId>,
}

/// A node that rebuilds a tensor.
#[derive(Debug)]
pub(super) enum TensorNode {
    /// What the pickle says of it.
    Read(TensorInfo),
    /// It is not understood; [`TorchObject::tensor_info`] says why.
    Refused,
}

impl TensorNode {
    fn of(object: &TorchObject, id: NodeId) -> Option<Self> {
        match object.tensor_info(id) {
            Ok(info) => info.map(Self::Read),
            Err(_) => Some(Self::Refused),
        }
    }
}

impl Survey {
    /// Looks at everything below the roots, each object once.
    pub(super) fn of(object: &TorchObject, roots: &[NodeId]) -> Self {
        let graph = object.graph();
        let mut survey = Self {
            children: HashMap::new(),
            tensors: HashMap::new(),
            holders: HashSet::new(),
        };
        let mut seen: HashSet<NodeId> = roots.iter().copied().collect();
        let mut waiting: Vec<NodeId> = roots.to_vec();
        // By an object, those that it lies below.
        let mut above: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        while let Some(id) = waiting.pop() {
            if let Some(tensor) = TensorNode::of(object, id) {
                survey.tensors.insert(id, tensor);
                continue;
            }
            let mut children = view::children(graph, id);
            if children.is_empty() {
                continue;
            }
            for child in &mut children {
                child.id = view::unwrapped(graph, child.id);
                // What has nothing below it and is no tensor leads to none.
                if is_plain(graph.node(child.id)) {
                    continue;
                }
                above.entry(child.id).or_default().push(id);
                if seen.insert(child.id) {
                    waiting.push(child.id);
                }
            }
            survey.children.insert(id, children);
        }
        let mut reached: Vec<NodeId> = survey.tensors.keys().copied().collect();
        while let Some(id) = reached.pop() {
            for &holder in above.get(&id).into_iter().flatten() {
                if survey.holders.insert(holder) {
                    reached.push(holder);
                }
            }
        }
        survey
    }

    /// The tensor that a node is, if it is one.
    pub(super) fn tensor(&self, id: NodeId) -> Option<&TensorNode> {
        self.tensors.get(&id)
    }

    /// What lies below a node.
    pub(super) fn children(&self, id: NodeId) -> &[Child] {
        self.children.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Whether a tensor lies below a node.
    pub(super) fn holds_tensor(&self, id: NodeId) -> bool {
        self.holders.contains(&id)
    }

    /// Whether a node is walked even when no tensor lies below it.
    pub(super) fn is_open(&self, graph: &Graph, id: NodeId) -> bool {
        view::is_open(graph, id)
    }

    /// The tensors of the graph that lie below no root, and are no parts of those that do.
    pub(super) fn nameless(&self, object: &TorchObject) -> Vec<(NodeId, TensorNode)> {
        let graph = object.graph();
        let mut found: Vec<(NodeId, TensorNode)> = graph
            .ids()
            .filter(|id| !self.tensors.contains_key(id))
            .filter_map(|id| Some((id, TensorNode::of(object, id)?)))
            .collect();
        if !found.is_empty() {
            let parts = self.parts(graph);
            found.retain(|(id, _)| !parts.contains(id));
        }
        found
    }

    /// What the tensors are made of, but for the attributes that were set on them.
    fn parts(&self, graph: &Graph) -> HashSet<NodeId> {
        let attributes = self.tensors.values().filter_map(|tensor| match tensor {
            TensorNode::Read(info) => info.attributes,
            TensorNode::Refused => None,
        });
        let attributes: HashSet<NodeId> = attributes.collect();
        let mut parts = HashSet::new();
        let mut waiting: Vec<NodeId> = self.tensors.keys().copied().collect();
        while let Some(id) = waiting.pop() {
            graph.each_member(id, |member| {
                if !attributes.contains(&member) && parts.insert(member) {
                    waiting.push(member);
                }
            });
        }
        parts
    }
}

/// Whether nothing lies below a node.
fn is_plain(node: &Node) -> bool {
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
