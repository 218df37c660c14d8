//! The pickle of a file, with its storages numbered as `torch.save` numbers them.

use std::collections::HashMap;

use indexmap::IndexSet;

use super::object::TorchObject;
use crate::Limits;
use crate::error::Result;
use crate::pickle::{self, Graph, Node, NodeId, Text};

/// A pickle whose persistent ids name the storages `0`, `1` and so on, in the order in which the
/// pickle first refers to them.
///
/// A zip container with `.format_version` 1 promises this order: PyTorch then computes where the
/// record of a storage begins from the records before it, without looking it up.
#[derive(Debug)]
pub(crate) struct NumberedPickle {
    /// The pickle.
    pub(crate) program: Vec<u8>,
    /// The object's storages in the order of their numbers. A storage that the root does not refer
    /// to has no number.
    pub(crate) storages: Vec<usize>,
}

impl NumberedPickle {
    /// Pickles `graph`: that of the object, or a copy of it with the same ids.
    ///
    /// # Errors
    /// As for [`pickle::write`].
    pub(crate) fn write(object: &TorchObject, graph: &Graph, limits: &Limits) -> Result<Self> {
        let (program, references) = pickle::write_with_references(graph, limits)?;
        let storages: IndexSet<usize> = references
            .iter()
            .filter_map(|&reference| object.storage_index(reference))
            .collect();
        let is_numbered = storages.iter().enumerate().all(|(number, &index)| {
            object
                .storage_key(index)
                .is_some_and(|key| key == number.to_string())
        });
        let program = if is_numbered {
            program
        } else {
            let graph = renumbered(object, graph, &references, &storages);
            pickle::write(&graph, limits)?
        };
        Ok(Self {
            program,
            storages: storages.into_iter().collect(),
        })
    }
}

/// The same graph with other keys in the persistent ids. Other references to such an id or to a key
/// in it keep the old one.
fn renumbered(
    object: &TorchObject,
    graph: &Graph,
    references: &[NodeId],
    storages: &IndexSet<usize>,
) -> Graph {
    let mut renumbered = graph.clone();
    // References to one storage share its key, as in Python, where one table has the keys.
    let mut keys: HashMap<usize, NodeId> = HashMap::new();
    let mut ids: HashMap<NodeId, NodeId> = HashMap::new();
    for &reference in references {
        let number = object
            .storage_index(reference)
            .and_then(|index| storages.get_index_of(&index));
        let (Some(number), Node::Persistent(old)) = (number, graph.node(reference)) else {
            continue;
        };
        let Node::Tuple(members) = graph.node(*old) else {
            continue;
        };
        let new = *ids.entry(*old).or_insert_with(|| {
            let key = *keys.entry(number).or_insert_with(|| {
                renumbered.push(Node::Str(Text::Utf8(number.to_string().into())))
            });
            let mut members = members.clone();
            if let Some(member) = members.get_mut(KEY_MEMBER) {
                *member = key;
            }
            renumbered.push(Node::Tuple(members))
        });
        *renumbered.node_mut(reference) = Node::Persistent(new);
    }
    renumbered
}

/// The position of the key in `('storage', class, key, location, count)`.
const KEY_MEMBER: usize = 2;
