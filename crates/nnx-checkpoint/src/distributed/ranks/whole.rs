//! The tensor that the ranks have together.

use crate::Dtype;
use crate::distributed::cover::{self, ChunkBox};
use crate::error::Result;
use crate::tensor::TensorChunk;

/// A tensor that was joined of what all ranks have.
pub(super) struct WholeTensor {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    pub(super) chunks: Vec<TensorChunk>,
}

impl WholeTensor {
    /// The tensor of these chunks, which are in these boxes.
    ///
    /// # Errors
    /// When the boxes do not cover the tensor, each element once.
    pub(super) fn new(
        dtype: Dtype,
        shape: &[usize],
        boxes: &[ChunkBox],
        chunks: Vec<TensorChunk>,
    ) -> Result<Self> {
        cover::check(&cover::signed(shape), boxes)?;
        Ok(Self {
            dtype,
            shape: shape.to_vec(),
            chunks,
        })
    }
}
