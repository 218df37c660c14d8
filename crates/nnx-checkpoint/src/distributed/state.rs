//! The state that the parts of a checkpoint are joined to: an object as `torch.save` would write it.

use std::collections::HashMap;
use std::sync::Arc;

use super::paths::PathPart;
use crate::error::{DistributedFault, Error, Result, shown};
use crate::globals::{self, GlobalRef};
use crate::open::OpenedTorch;
use crate::pickle::NodeId;
use crate::tensor::{JoinedTensor, TensorChunk, TensorChunks};
use crate::torch::{PickledObject, TorchBuilder, TorchObject};
use crate::{CheckpointPart, Dtype, Format, Storage, Tensor};

/// Indices of a list in the nested state, and items of all lists that no name has: a state of a training
/// has no more.
const MAX_LIST: i64 = 1_000_000;

/// Collects the tensors and values of a part by their names.
#[derive(Debug, Default)]
pub(super) struct State {
    part: CheckpointPart,
    builder: TorchBuilder,
    entries: Vec<Entry>,
    /// The paths of what other parts have.
    others: Vec<(String, Vec<PathPart>)>,
    globals: Vec<GlobalRef>,
    pub(super) notes: Vec<String>,
}

/// A tensor or a value of the state.
#[derive(Debug)]
struct Entry {
    name: String,
    path: Vec<PathPart>,
    node: NodeId,
}

impl State {
    /// Collects what a part has by its name, and of all else the paths alone.
    pub(super) fn new(part: CheckpointPart) -> Self {
        Self {
            part,
            ..Self::default()
        }
    }

    /// Adds a tensor of chunks.
    ///
    /// # Errors
    /// When the tensor has no room in memory.
    pub(super) fn joined(
        &mut self,
        name: &str,
        path: Vec<PathPart>,
        dtype: Dtype,
        shape: &[usize],
        chunks: Box<dyn TensorChunks>,
    ) -> Result<()> {
        let tensor = joined(dtype, shape, chunks).map_err(|error| error.in_tensor(name))?;
        self.tensor(name, path, &tensor)
    }

    /// Adds a tensor.
    ///
    /// # Errors
    /// When `torch.save` would not write such a tensor.
    pub(super) fn tensor(
        &mut self,
        name: &str,
        path: Vec<PathPart>,
        tensor: &Tensor,
    ) -> Result<()> {
        self.add(name, path, |builder| {
            let node = builder.tensor(tensor);
            node.map_err(|error| error.in_tensor(name))
        })
    }

    /// Adds a value as a file has it.
    ///
    /// # Errors
    /// When a storage in it cannot be told.
    pub(super) fn value(
        &mut self,
        name: &str,
        path: Vec<PathPart>,
        value: &PickledObject,
    ) -> Result<()> {
        self.add(name, path, |builder| builder.copy(value))
    }

    /// Adds an entry. Nothing is built for another part: a graph has no object that nothing leads to.
    fn add(
        &mut self,
        name: &str,
        path: Vec<PathPart>,
        build: impl FnOnce(&mut TorchBuilder) -> Result<NodeId>,
    ) -> Result<()> {
        let name = name.to_owned();
        if self.part.has(&name) {
            let node = build(&mut self.builder)?;
            self.entries.push(Entry { name, path, node });
        } else {
            self.others.push((name, path));
        }
        Ok(())
    }

    /// Whether the part has nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds what a file names, which is called `file` in the listing.
    pub(super) fn name_globals(&mut self, file: &str, globals: Vec<GlobalRef>) {
        for mut global in globals {
            let known = self
                .globals
                .iter()
                .any(|known| (&known.module, &known.name) == (&global.module, &global.name));
            if known {
                continue;
            }
            global.entry = Some(match global.entry {
                Some(entry) => format!("{file}/{entry}"),
                None => file.to_owned(),
            });
            self.globals.push(global);
        }
    }

    /// What was collected: a dict of all names, or the nested state as it was in Python.
    ///
    /// # Errors
    /// When two names are of one place in the nested state, or an index of a list is beyond sense.
    pub(super) fn finish(mut self, format: Format, nested: bool) -> Result<OpenedTorch> {
        let own = self.entries.iter();
        let own = own.map(|entry| (entry.name.as_str(), entry.path.as_slice()));
        let others = self.others.iter();
        let others = others.map(|(name, path)| (name.as_str(), path.as_slice()));
        // The paths are judged whether they are wanted or not: a sound checkpoint has sound ones.
        Tree::new(own.clone().chain(others))?;
        let root = if nested {
            let tree = Tree::new(own)?;
            let filled = tree.filled();
            if filled > 0 {
                self.notes.push(format!(
                    "{filled} items of lists are in no file, and are None in the nested state"
                ));
            }
            tree.build(&mut self.builder, &self.entries)
        } else {
            let pairs = self.entries.iter().map(|entry| {
                let key = self.builder.text(&entry.name);
                (key, entry.node)
            });
            let pairs = pairs.collect();
            self.builder.dict(pairs)
        };
        let mut notes = self.notes;
        notes.extend(globals::note(&self.globals));
        Ok(OpenedTorch {
            object: self.builder.finish(root),
            format,
            globals: self.globals,
            notes,
            constants: None,
        })
    }
}

/// The tensor of chunks.
///
/// # Errors
/// When it has no room in memory.
pub(super) fn joined(
    dtype: Dtype,
    shape: &[usize],
    chunks: Box<dyn TensorChunks>,
) -> Result<Tensor> {
    if dtype.is_packed() {
        return Err(Error::unsupported(format!(
            "a {dtype} tensor in parts is not read: a byte holds several of its elements"
        )));
    }
    let joined = JoinedTensor::new(dtype.size(), shape.to_vec(), chunks);
    Tensor::contiguous(dtype, shape, Storage::from_joined(joined)?)
}

/// The tensor of chunks that follow one another in the order of its elements: the chunks are those of a
/// tensor of one dimension.
///
/// # Errors
/// When it has no room in memory.
pub(super) fn joined_flat(
    dtype: Dtype,
    shape: &[usize],
    chunks: Vec<TensorChunk>,
) -> Result<Tensor> {
    let counts = chunks.iter().map(|chunk| chunk.tensor.elements());
    let count = counts.fold(0, usize::saturating_add);
    let joined = JoinedTensor::new(dtype.size(), vec![count], Box::new(chunks));
    Tensor::contiguous(dtype, shape, Storage::from_joined(joined)?)
}

/// The root of a file as a value.
pub(super) fn root_of(object: TorchObject) -> PickledObject {
    let root = object.graph().root();
    PickledObject::new(Arc::new(object), root)
}

/// The nested state: what is at a place.
#[derive(Debug, Default)]
struct Tree {
    nodes: Vec<TreeNode>,
}

#[derive(Debug)]
enum TreeNode {
    /// An entry of that number.
    Leaf(usize),
    /// A mapping: its keys in their order, each with a node.
    Mapping(Vec<(String, usize)>, HashMap<String, usize>),
    /// A list: its indices, each with a node.
    List(std::collections::BTreeMap<i64, usize>),
    /// Nothing is known of it yet.
    Unknown,
}

impl Tree {
    fn new<'a>(entries: impl Iterator<Item = (&'a str, &'a [PathPart])>) -> Result<Self> {
        let mut tree = Self {
            nodes: vec![TreeNode::Unknown],
        };
        for (number, (name, path)) in entries.enumerate() {
            let place = tree
                .place(path)
                .ok_or_else(|| below_a_value(name))
                .map_err(|error| error.in_tensor(name))?;
            for part in path {
                if let PathPart::Index(index) = part
                    && !(0..MAX_LIST).contains(index)
                {
                    return Err(Error::distributed(
                        DistributedFault::Limit,
                        format!(
                            "`{}` is item {index} of a list, of which {MAX_LIST} are made at most",
                            shown(name)
                        ),
                    ));
                }
            }
            match tree.nodes.get_mut(place) {
                Some(node @ TreeNode::Unknown) => *node = TreeNode::Leaf(number),
                _ => return Err(below_a_value(name)),
            }
        }
        let filled = tree.filled();
        if filled > MAX_LIST {
            return Err(Error::distributed(
                DistributedFault::Limit,
                format!(
                    "{filled} items of lists are in no file, of which {MAX_LIST} are made up at most"
                ),
            ));
        }
        Ok(tree)
    }

    /// How many items of lists have no name. The nested state has `None` for each.
    fn filled(&self) -> i64 {
        let filled = self.nodes.iter().map(|node| match node {
            TreeNode::List(items) => {
                let len = items
                    .last_key_value()
                    .map_or(0, |(&last, _)| last.saturating_add(1));
                len.saturating_sub(i64::try_from(items.len()).unwrap_or(len))
            }
            _ => 0,
        });
        filled.fold(0, i64::saturating_add)
    }

    /// The node of a path, made where it was not there; none below another value.
    fn place(&mut self, path: &[PathPart]) -> Option<usize> {
        let mut at = 0usize;
        for part in path {
            let next = self.nodes.len();
            let node = self.nodes.get_mut(at)?;
            if matches!(node, TreeNode::Unknown) {
                *node = match part {
                    PathPart::Key(_) => TreeNode::Mapping(Vec::new(), HashMap::new()),
                    PathPart::Index(_) => TreeNode::List(Default::default()),
                };
            }
            let child = match (node, part) {
                (TreeNode::Mapping(keys, by_key), PathPart::Key(key)) => {
                    *by_key.entry(key.clone()).or_insert_with(|| {
                        keys.push((key.clone(), next));
                        next
                    })
                }
                (TreeNode::List(items), PathPart::Index(index)) => {
                    *items.entry(*index).or_insert(next)
                }
                _ => return None,
            };
            if child == next {
                self.nodes.push(TreeNode::Unknown);
            }
            at = child;
        }
        Some(at)
    }

    /// Makes the objects. Children have larger numbers than their parents, so the last node is made
    /// first.
    fn build(&self, builder: &mut TorchBuilder, entries: &[Entry]) -> NodeId {
        let mut made: HashMap<usize, NodeId> = HashMap::new();
        for (number, node) in self.nodes.iter().enumerate().rev() {
            let id = match node {
                TreeNode::Leaf(entry) => entries.get(*entry).map(|entry| entry.node),
                TreeNode::Mapping(keys, _) => {
                    let pairs = keys.iter().filter_map(|(key, child)| {
                        let value = *made.get(child)?;
                        Some((builder.text(key), value))
                    });
                    let pairs = pairs.collect();
                    Some(builder.dict(pairs))
                }
                TreeNode::List(items) => {
                    let mut list = Vec::new();
                    for (&index, child) in items {
                        let index = usize::try_from(index).unwrap_or_default();
                        while list.len() < index {
                            list.push(builder.none());
                        }
                        list.extend(made.get(child));
                    }
                    Some(builder.list(list))
                }
                TreeNode::Unknown => Some(builder.dict(Vec::new())),
            };
            made.extend(id.map(|id| (number, id)));
        }
        let root = made.get(&0).copied();
        root.unwrap_or_else(|| builder.dict(Vec::new()))
    }
}

#[cold]
fn below_a_value(name: &str) -> Error {
    Error::distributed(
        DistributedFault::DuplicatePath,
        format!(
            "`{}` and another name are of one place in the nested state, or one is below the other",
            shown(name)
        ),
    )
}
