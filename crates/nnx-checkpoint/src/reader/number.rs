//! Numbers of a pickled module that its `state_dict()` gives as tensors.

use crate::error::Result;
use crate::pickle::Node;
use crate::{Dtype, Tensor};

/// The dtype that `torch.tensor` gives a Python number, under PyTorch's default settings; none for
/// what it takes for no number.
pub(super) fn dtype(node: &Node) -> Option<Dtype> {
    match node {
        Node::Float(_) => Some(Dtype::Float32),
        Node::Int(_) => Some(Dtype::Int64),
        Node::Bool(_) => Some(Dtype::Bool),
        _ => None,
    }
}

/// `torch.tensor` of a Python number; none for a value that it takes for no number.
pub(super) fn tensor(node: &Node) -> Option<Result<Tensor>> {
    let bytes = match node {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "PyTorch rounds to the nearest float32 as well"
        )]
        Node::Float(value) => (*value as f32).to_le_bytes().to_vec(),
        Node::Int(value) => value.to_le_bytes().to_vec(),
        Node::Bool(value) => vec![u8::from(*value)],
        _ => return None,
    };
    dtype(node).map(|dtype| Tensor::from_bytes(dtype, &[], bytes))
}
