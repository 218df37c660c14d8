//! One file of an open checkpoint: where its tensors come from.

use std::sync::Arc;

use super::arrays::ArrayContents;
use super::number;
use super::table::TensorRow;
use crate::Tensor;
use crate::error::Result;
use crate::safetensors::SafeTensors;
use crate::torch::{TensorInfo, TorchObject};

/// One file of an open checkpoint.
#[derive(Debug)]
pub(super) enum OpenFile {
    Torch(TorchFile),
    SafeTensors(SafeTensors),
}

/// A PyTorch file.
#[derive(Debug)]
pub(super) struct TorchFile {
    pub(super) object: Arc<TorchObject>,
    /// The pickle's description of each listed tensor, found once.
    pub(super) infos: Vec<Option<TensorInfo>>,
    pub(super) arrays: ArrayContents,
}

impl OpenFile {
    /// The pickle's description of the tensor of a row.
    pub(super) fn info(&self, row: &TensorRow) -> Option<&TensorInfo> {
        match self {
            Self::Torch(file) => file.infos.get(row.info?)?.as_ref(),
            Self::SafeTensors(_) => None,
        }
    }

    /// The tensor of a row, which the file calls by that name; `None` when there is none. Its bytes
    /// are read when they are asked for.
    ///
    /// # Errors
    /// When the tensor has no plain bytes.
    pub(super) fn unread_tensor(&self, row: &TensorRow, name: &str) -> Option<Result<Tensor>> {
        match self {
            Self::Torch(file) => {
                let node = row.node?;
                let graph = file.object.graph();
                match self.info(row) {
                    Some(info) => Some(file.object.tensor_of(info, node)),
                    None => file
                        .arrays
                        .tensor(graph, node)
                        .or_else(|| number::tensor(graph.node(node))),
                }
            }
            Self::SafeTensors(file) => file.get(name).cloned().map(Ok),
        }
    }
}
