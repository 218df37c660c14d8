//! The search for tensors in the values of a rank's file.

use std::collections::HashSet;

use crate::distributed::torch_file::TorchFile;
use crate::error::Result;
use crate::pickle::{Call, Graph, Node, NodeId};
use crate::torch::Layout;

/// Nodes of which is known that they contain no tensor, or none in pieces, so that each is looked at
/// once.
#[derive(Debug, Default)]
pub(super) struct TensorSearch {
    without_tensors: HashSet<NodeId>,
    without_pieces: HashSet<NodeId>,
}

impl TensorSearch {
    /// Whether a value is a tensor or contains one.
    ///
    /// # Errors
    /// When a tensor cannot be told.
    pub(super) fn has_tensors(&mut self, file: &TorchFile, id: NodeId) -> Result<bool> {
        contains(file, id, &mut self.without_tensors, |_| true)
    }

    /// Whether a value contains a tensor that is in pieces.
    ///
    /// # Errors
    /// When a tensor cannot be told.
    pub(super) fn has_pieces(&mut self, file: &TorchFile, id: NodeId) -> Result<bool> {
        contains(file, id, &mut self.without_pieces, |layout| {
            matches!(layout, Layout::Wrapper { .. })
        })
    }
}

/// Whether a value contains a tensor of a wanted layout. `without` are nodes that do not; where the
/// value does not, all that it contains are added.
fn contains(
    file: &TorchFile,
    id: NodeId,
    without: &mut HashSet<NodeId>,
    wanted: impl Fn(&Layout) -> bool,
) -> Result<bool> {
    let graph = file.graph();
    let mut seen = HashSet::new();
    let mut waiting = vec![id];
    while let Some(id) = waiting.pop() {
        if without.contains(&id) || !seen.insert(id) {
            continue;
        }
        if graph.object(id).is_some() {
            let info = file.object.tensor_info(id);
            if let Some(info) = info.map_err(|error| error.in_path(&file.path))? {
                if wanted(&info.layout) {
                    return Ok(true);
                }
                continue;
            }
        }
        add_parts(graph, id, &mut waiting);
    }
    without.extend(seen);
    Ok(false)
}

/// Adds the parts of a node.
fn add_parts(graph: &Graph, id: NodeId, to: &mut Vec<NodeId>) {
    let pairs = |pairs: &[(NodeId, NodeId)], to: &mut Vec<NodeId>| {
        to.extend(pairs.iter().flat_map(|&(key, value)| [key, value]));
    };
    match graph.node(id) {
        Node::Tuple(items) | Node::FrozenSet(items) => to.extend(items),
        Node::List(items) | Node::Set(items) => to.extend(items),
        Node::Dict(all) => pairs(all, to),
        Node::Object(object) => {
            match &object.call {
                Call::Reduce { args, .. } | Call::New { args, .. } => to.push(*args),
                Call::NewEx { args, kwargs, .. } => to.extend([*args, *kwargs]),
                Call::Instance { args, .. } => to.extend(args),
            }
            to.extend(&object.items);
            to.extend(object.state);
            pairs(&object.pairs, to);
        }
        _ => {}
    }
}
