//! A file of `torch.save` as one of many.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files::RankFiles;
use crate::error::{DistributedFault, Error, Result, shown};
use crate::globals::GlobalRef;
use crate::open::{self, OpenOptions, Opened};
use crate::pickle::{Graph, Node, NodeId};
use crate::torch::{PickledObject, TorchObject};
use crate::{Tensor, TensorClass};

/// An open file of `torch.save`.
#[derive(Debug)]
pub(super) struct TorchFile {
    pub(super) path: PathBuf,
    pub(super) object: Arc<TorchObject>,
    pub(super) globals: Vec<GlobalRef>,
}

impl TorchFile {
    /// Opens a file.
    ///
    /// # Errors
    /// When it is not there, is no file of `torch.save`, or names what runs code: such a checkpoint
    /// is refused whatever the options allow.
    pub(super) fn open(files: &RankFiles, path: &Path, options: &OpenOptions) -> Result<Self> {
        let options = options.allow_dangerous_globals(false);
        let read = || match open::open(&files.open(path)?, &options)? {
            Opened::Torch(opened) => Ok(Self {
                path: path.to_path_buf(),
                object: Arc::new(opened.object),
                globals: opened.globals,
            }),
            Opened::SafeTensors(_) => Err(Error::distributed(
                DistributedFault::BadContainer,
                "expected a file of PyTorch, found a safetensors file",
            )),
        };
        read().map_err(|error: Error| error.in_path(path))
    }

    pub(super) fn graph(&self) -> &Graph {
        self.object.graph()
    }

    /// What a key of the root has; none where that is `None`.
    pub(super) fn get(&self, key: &str) -> Option<NodeId> {
        let value = self.graph().get(self.graph().root(), key)?;
        (!self.graph().is_none(value)).then_some(value)
    }

    /// A value of the file.
    pub(super) fn value(&self, id: NodeId) -> PickledObject {
        PickledObject::new(Arc::clone(&self.object), id)
    }

    /// The tensor that a node is, as plain data; none where it is no tensor.
    ///
    /// # Errors
    /// When it cannot be told.
    pub(super) fn tensor(&self, id: NodeId) -> Result<Option<Tensor>> {
        let tensor = self.object.unread_tensor(id);
        let tensor = tensor.map_err(|error| error.in_path(&self.path))?;
        Ok(tensor.map(|tensor| {
            tensor
                .with_class(TensorClass::Tensor)
                .with_requires_grad(false)
        }))
    }

    /// The tensor that a node must be.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn expect_tensor(&self, id: NodeId, what: &str) -> Result<Tensor> {
        self.tensor(id)?.ok_or_else(|| {
            Error::malformed(format!(
                "{what} must be a tensor, got {}",
                self.graph().describe(id)
            ))
            .in_path(&self.path)
        })
    }

    /// The names of a mapping, each with its value.
    ///
    /// # Errors
    /// When two keys are one name, as `1` and `'1'` are.
    pub(super) fn pairs(&self, id: NodeId) -> Result<Vec<(String, NodeId)>> {
        let graph = self.graph();
        let mut known = HashSet::new();
        let mut pairs: Vec<(String, NodeId)> = Vec::new();
        for &(key, value) in graph.dict_pairs(id).unwrap_or_default() {
            let Some(key) = key_text(graph, key) else {
                continue;
            };
            if !known.insert(key.clone()) {
                return Err(Error::distributed(
                    DistributedFault::DuplicatePath,
                    format!("a mapping has two keys that are written `{}`", shown(&key)),
                )
                .in_path(&self.path));
            }
            pairs.push((key, value));
        }
        Ok(pairs)
    }
}

/// A key of a mapping as a text, as Python's `str` has it.
pub(super) fn key_text(graph: &Graph, key: NodeId) -> Option<String> {
    match graph.node(key) {
        Node::Int(value) => Some(value.to_string()),
        _ => graph.text(key).map(str::to_owned),
    }
}

/// A `torch.Size`, or a tuple of sizes.
pub(super) fn shape(graph: &Graph, id: NodeId) -> Option<Vec<i64>> {
    let sizes = match graph.reduce(id) {
        Some((("torch", "Size"), &[sizes])) => graph.sequence(sizes)?,
        _ => graph.sequence(id)?,
    };
    sizes.iter().map(|&size| graph.int(size)).collect()
}

/// An attribute of an object: its state is a dict, or that of slots, `(None, dict)`.
pub(super) fn attribute(graph: &Graph, id: NodeId, name: &str) -> Option<NodeId> {
    let state = graph.object(id)?.state?;
    attribute_of_state(graph, state, name)
}

/// An attribute in the state of an object.
pub(super) fn attribute_of_state(graph: &Graph, state: NodeId, name: &str) -> Option<NodeId> {
    match graph.node(state) {
        Node::Tuple(parts) => parts.iter().find_map(|&part| graph.get(part, name)),
        _ => graph.get(state, name),
    }
}
