//! One file of an open checkpoint: where the bytes of its tensors come from.

use std::sync::Arc;

use super::arrays::ArrayContents;
use super::number;
use crate::Tensor;
use crate::error::Result;
use crate::pickle::NodeId;
use crate::safetensors::SafeTensors;
use crate::torch::TorchObject;

/// One file of an open checkpoint.
#[derive(Debug)]
pub(super) enum Part {
    Torch(Arc<TorchObject>, ArrayContents),
    SafeTensors(Arc<SafeTensors>),
}

impl Part {
    /// The object of a PyTorch file.
    pub(super) fn object(&self) -> Option<&Arc<TorchObject>> {
        match self {
            Self::Torch(object, _) => Some(object),
            Self::SafeTensors(_) => None,
        }
    }

    /// The tensor of a node of a PyTorch file's graph, or of a name in a safetensors file; `None`
    /// when there is none.
    ///
    /// # Errors
    /// When the tensor has no plain bytes, or those do not match their checksum.
    pub(super) fn tensor(&self, node: Option<NodeId>, name: &str) -> Result<Option<Tensor>> {
        match (self, node) {
            (Self::Torch(object, contents), Some(node)) => object
                .tensor(node)
                .transpose()
                .or_else(|| contents.tensor(object.graph(), node))
                .or_else(|| number::tensor(object.graph().node(node)))
                .transpose(),
            (Self::SafeTensors(file), _) => Ok(file.get(name).cloned()),
            (Self::Torch(..), None) => Ok(None),
        }
    }
}
