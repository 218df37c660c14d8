//! A first look at the objects of a graph, before anything is named.

use std::collections::HashSet;

use super::arrays::Lengths;
use super::children::{self, Child};
use crate::error::{Error, Result};
use crate::numpy::Array;
use crate::pickle::{Graph, Node, NodeId, NodeMap};
use crate::torch::{Layout, TensorInfo, TorchObject};
use crate::{Dtype, Limits};

/// The objects below the roots: the children of each, which are tensors, and which hold one.
#[derive(Debug)]
pub(super) struct Reachability<'a> {
    /// Of a file whose arrays are tensors, how long their contents are.
    lengths: Option<Lengths>,
    children: NodeMap<Vec<Child<'a>>>,
    wrappers: NodeMap<Wrapper>,
    tensors: Vec<(NodeId, TensorNode)>,
    /// For every node of the graph its kind, and for a tensor its number.
    marks: Vec<Mark>,
}

/// The state of a node in the search.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Mark {
    /// Not met yet.
    #[default]
    New,
    /// It is below a root.
    Seen,
    /// It is below a root, and a tensor below it.
    Holder,
    /// The tensor of that place among the tensors.
    Tensor(u32),
}

/// A tensor of a Python class that keeps its elements in attributes of its own: its parts are the
/// tensors of the checkpoint.
#[derive(Debug)]
pub(super) struct Wrapper {
    /// The node of the class.
    pub(super) class: NodeId,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    /// The attributes.
    state: NodeId,
}

impl Wrapper {
    fn from_tensor(tensor: &TensorNode) -> Option<Self> {
        let TensorNode::Read(info) = tensor else {
            return None;
        };
        let Layout::Wrapper { class, .. } = info.layout else {
            return None;
        };
        Some(Self {
            class,
            dtype: info.dtype,
            shape: info.shape.clone(),
            state: info.attributes?,
        })
    }
}

/// A node that rebuilds a tensor.
#[derive(Debug)]
pub(super) enum TensorNode {
    /// The pickle's description of it.
    Read(TensorInfo),
    /// An array of NumPy.
    Array(Array),
    /// It is not understood; [`TensorNode::refusal`] says why.
    Refused,
}

impl TensorNode {
    fn from_node(object: &TorchObject, id: NodeId, lengths: Option<&mut Lengths>) -> Option<Self> {
        match (object.tensor_info(id), lengths) {
            (Ok(Some(info)), _) => Some(Self::Read(info)),
            (Err(_), _) => Some(Self::Refused),
            (Ok(None), None) => None,
            (Ok(None), Some(lengths)) => match lengths.array(object.graph(), id)? {
                Ok(array) => Some(Self::Array(array)),
                Err(_) => Some(Self::Refused),
            },
        }
    }

    /// Why a node is refused.
    pub(super) fn refusal(object: &TorchObject, id: NodeId) -> Option<Error> {
        match object.tensor_info(id) {
            Err(error) => Some(error),
            Ok(_) => {
                let array = Lengths::default().array(object.graph(), id)?;
                array.err().map(|error| object.locate(error))
            }
        }
    }
}

impl<'a> Reachability<'a> {
    /// Looks at everything below the roots, each object once.
    ///
    /// # Errors
    /// When the keys and attribute names met take more than [`Limits::max_name_bytes`]: a pickle may
    /// share one long text among many. When there are more of them than
    /// [`Limits::max_pickle_nodes`]: it may share one long list of arguments or attributes.
    pub(super) fn new(
        object: &'a TorchObject,
        roots: &[NodeId],
        has_arrays: bool,
        limits: &Limits,
    ) -> Result<Self> {
        let mut key_bytes: u64 = 0;
        let mut met: u64 = 0;
        let graph = object.graph();
        let mut reachable = Self {
            lengths: has_arrays.then(Lengths::default),
            children: NodeMap::default(),
            wrappers: NodeMap::default(),
            tensors: Vec::new(),
            marks: vec![Mark::New; graph.len()],
        };
        let mut waiting: Vec<NodeId> = roots.to_vec();
        // Pairs of an object and one that it is below.
        let mut above: Vec<(NodeId, NodeId)> = Vec::new();
        // Objects that contain a number that is listed as a tensor.
        let mut reached: Vec<NodeId> = Vec::new();
        while let Some(id) = waiting.pop() {
            if reachable.mark(id) != Mark::New {
                continue;
            }
            let tensor = TensorNode::from_node(object, id, reachable.lengths.as_mut());
            let wrapper = tensor.as_ref().and_then(Wrapper::from_tensor);
            if let Some(tensor) = tensor.filter(|_| wrapper.is_none()) {
                let place = u32::try_from(reachable.tensors.len()).unwrap_or(u32::MAX);
                reachable.set(id, Mark::Tensor(place));
                reachable.tensors.push((id, tensor));
                continue;
            }
            reachable.set(id, Mark::Seen);
            met = met.saturating_add(children::visit_cost(graph, id));
            if met > limits.max_pickle_nodes {
                let allowed = limits.max_pickle_nodes;
                return Err(Error::limit("max_pickle_nodes", allowed, met));
            }
            let mut children = match &wrapper {
                Some(wrapper) => children::attributes_of_tensor(graph, wrapper.state),
                None => children::below(graph, id),
            };
            if let Some(wrapper) = wrapper {
                reachable.wrappers.insert(id, wrapper);
            }
            if children.is_empty() {
                continue;
            }
            for child in &children {
                key_bytes = key_bytes.saturating_add(child.key.len() as u64);
            }
            if key_bytes > limits.max_name_bytes {
                let allowed = limits.max_name_bytes;
                return Err(Error::limit("max_name_bytes", allowed, key_bytes));
            }
            for child in &mut children {
                child.id = children::unwrapped(graph, child.id);
                if child.is_number(graph) && reachable.mark(id) == Mark::Seen {
                    reachable.set(id, Mark::Holder);
                    reached.push(id);
                }
                // An object without children that is not a tensor leads to none.
                if !children::is_plain(graph.node(child.id)) {
                    above.push((child.id, id));
                    waiting.push(child.id);
                }
            }
            reachable.children.insert(id, children);
        }
        above.sort_unstable();
        reached.extend(reachable.tensors.iter().map(|tensor| tensor.0));
        while let Some(id) = reached.pop() {
            let first = above.partition_point(|pair| pair.0 < id);
            let pairs = above.get(first..).unwrap_or_default();
            for &(_, holder) in pairs.iter().take_while(|pair| pair.0 == id) {
                if reachable.mark(holder) == Mark::Seen {
                    reachable.set(holder, Mark::Holder);
                    reached.push(holder);
                }
            }
        }
        Ok(reachable)
    }

    fn mark(&self, id: NodeId) -> Mark {
        self.marks.get(id.index()).copied().unwrap_or_default()
    }

    fn set(&mut self, id: NodeId, mark: Mark) {
        if let Some(place) = self.marks.get_mut(id.index()) {
            *place = mark;
        }
    }

    /// The tensor that a node is, if it is one.
    pub(super) fn tensor(&self, id: NodeId) -> Option<&TensorNode> {
        self.tensors
            .get(self.tensor_index(id)?)
            .map(|tensor| &tensor.1)
    }

    /// Where among the tensors the one that a node is.
    pub(super) fn tensor_index(&self, id: NodeId) -> Option<usize> {
        match self.mark(id) {
            Mark::Tensor(place) => usize::try_from(place).ok(),
            _ => None,
        }
    }

    /// How many tensors there are.
    pub(super) fn tensor_count(&self) -> usize {
        self.tensors.len()
    }

    /// The pickle's description of each tensor; `None` for one that is not understood.
    pub(super) fn into_infos(self) -> Vec<Option<TensorInfo>> {
        let tensors = self.tensors.into_iter();
        tensors
            .map(|(_, tensor)| match tensor {
                TensorNode::Read(info) => Some(info),
                TensorNode::Array(_) | TensorNode::Refused => None,
            })
            .collect()
    }

    /// The tensor of a class of its own that a node is, if its parts are the tensors.
    pub(super) fn wrapper(&self, id: NodeId) -> Option<&Wrapper> {
        self.wrappers.get(&id)
    }

    /// The objects below a node.
    pub(super) fn children(&self, id: NodeId) -> &[Child<'a>] {
        self.children.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Whether a tensor is below a node.
    pub(super) fn holds_tensor(&self, id: NodeId) -> bool {
        self.mark(id) == Mark::Holder
    }

    /// The tensors of the graph that are below no root, and are not parts of those that are.
    pub(super) fn nameless(&self, object: &TorchObject) -> Vec<(NodeId, TensorNode)> {
        let graph = object.graph();
        let mut lengths = self.lengths.clone();
        let mut found: Vec<(NodeId, TensorNode)> = graph
            .nodes()
            .filter(|(id, node)| matches!(node, Node::Object(_)) && self.mark(*id) == Mark::New)
            .map(|(id, _)| id)
            .filter_map(|id| Some((id, TensorNode::from_node(object, id, lengths.as_mut())?)))
            .collect();
        if !found.is_empty() {
            let parts = self.parts(graph);
            found.retain(|(id, _)| !parts.contains(id));
        }
        found
    }

    /// The parts of the tensors, without the attributes that were set on them.
    fn parts(&self, graph: &Graph) -> HashSet<NodeId> {
        let attributes = self.tensors.iter().filter_map(|(_, tensor)| match tensor {
            TensorNode::Read(info) => info.attributes,
            TensorNode::Array(_) | TensorNode::Refused => None,
        });
        let wrapped = self.wrappers.values().map(|wrapper| wrapper.state);
        let attributes: HashSet<NodeId> = attributes.chain(wrapped).collect();
        let mut parts = HashSet::new();
        let tensors = self.tensors.iter().map(|tensor| tensor.0);
        let mut waiting: Vec<NodeId> = tensors.chain(self.wrappers.keys().copied()).collect();
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
