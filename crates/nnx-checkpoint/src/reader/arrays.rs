//! Arrays of NumPy as the tensors of a checkpoint.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::numpy::Array;
use crate::pickle::{Graph, NodeId, NodeMap};
use crate::{Storage, Tensor};

/// How many bytes the contents of arrays have, each content looked at once: many arrays can share
/// one, and a pickle of an early protocol has it as a text that must be decoded.
#[derive(Clone, Debug, Default)]
pub(super) struct Lengths(NodeMap<Option<usize>>);

impl Lengths {
    /// The array that a node is, with a content of the right length.
    ///
    /// # Errors
    /// When the pickle contradicts itself.
    pub(super) fn array(&mut self, graph: &Graph, id: NodeId) -> Option<Result<Array>> {
        let array = Array::parse(graph, id)?;
        Some(array.and_then(|array| {
            let length = || graph.binary(array.content).map(|bytes| bytes.len());
            let found = *self.0.entry(array.content).or_insert_with(length);
            array.check_len(graph, found).map(|()| array)
        }))
    }
}

/// The contents of arrays as storages, each made when a tensor of it is first asked for.
#[derive(Debug, Default)]
pub(super) struct ArrayContents(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// By the content's node and the size of the numbers that were turned round: arrays that share
    /// a content in the file share its bytes here, however many they are.
    bytes: HashMap<(NodeId, usize), Bytes>,
    /// By the array's node: the same storage at every call.
    storages: NodeMap<Storage>,
}

impl ArrayContents {
    /// The tensor of an array; `None` for a node that is none.
    pub(super) fn tensor(&self, graph: &Graph, id: NodeId) -> Option<Result<Tensor>> {
        let array = Array::parse(graph, id)?;
        Some(array.and_then(|array| {
            let storage = self.storage(graph, id, &array)?;
            Tensor::view(storage, array.dtype, 0, &array.shape, &array.strides)
        }))
    }

    fn storage(&self, graph: &Graph, id: NodeId, array: &Array) -> Result<Storage> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(storage) = inner.storages.get(&id) {
            return Ok(storage.clone());
        }
        let key = (array.content, array.number_size());
        let bytes = match inner.bytes.get(&key) {
            Some(bytes) => bytes.clone(),
            None => {
                let made = array.bytes(graph).map(Bytes::from);
                let made = made.ok_or_else(|| {
                    Error::malformed("the content of a NumPy array must be bytes")
                })?;
                inner.bytes.insert(key, made.clone());
                made
            }
        };
        let storage = Storage::new(bytes);
        inner.storages.insert(id, storage.clone());
        Ok(storage)
    }
}
