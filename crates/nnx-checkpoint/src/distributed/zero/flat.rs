//! Flat groups: the elements of many parameters in one tensor of each rank.

use crate::Tensor;
use crate::error::{DistributedFault, Error, Result};
use crate::tensor::TensorChunk;

/// Tensors of one dimension, one behind the other.
#[derive(Clone, Debug, Default)]
pub(super) struct FlatGroup(Vec<Tensor>);

impl FlatGroup {
    pub(super) fn new(tensor: Tensor) -> Self {
        Self(vec![tensor])
    }

    /// Groups one behind the other.
    pub(super) fn concatenated(groups: &[Self]) -> Self {
        Self(groups.iter().flat_map(|group| group.0.clone()).collect())
    }

    pub(super) fn tensors(&self) -> &[Tensor] {
        &self.0
    }

    /// How many elements there are.
    pub(super) fn len(&self) -> usize {
        let lens = self.0.iter().map(Tensor::elements);
        lens.fold(0, usize::saturating_add)
    }

    /// Adds the `count` elements from element `start` on as chunks of a tensor of one dimension, the
    /// first of them at element `to`. None when there are not so many.
    pub(super) fn cut(
        &self,
        start: usize,
        count: usize,
        to: usize,
        chunks: &mut Vec<TensorChunk>,
    ) -> Option<()> {
        let (mut skip, mut left, mut to) = (start, count, to);
        for tensor in &self.0 {
            if left == 0 {
                break;
            }
            let len = tensor.elements();
            if skip >= len {
                skip = skip.checked_sub(len)?;
                continue;
            }
            let now = len.checked_sub(skip)?.min(left);
            let stride = tensor.strides().first().copied()?;
            let offset = skip.checked_mul(stride)?.checked_add(tensor.offset())?;
            let view = Tensor::view(
                tensor.storage().clone(),
                tensor.dtype(),
                offset,
                &[now],
                &[stride],
            );
            chunks.push(TensorChunk {
                offsets: vec![to],
                tensor: view.ok()?,
            });
            to = to.checked_add(now)?;
            left = left.checked_sub(now)?;
            skip = 0;
        }
        (left == 0).then_some(())
    }
}

/// How many elements a parameter of that shape has.
///
/// # Errors
/// When that cannot be counted.
pub(super) fn element_count(shape: &[usize]) -> Result<usize> {
    let count = shape.iter().copied().try_fold(1usize, usize::checked_mul);
    count.ok_or_else(|| {
        Error::distributed(
            DistributedFault::Limit,
            format!("the shape {shape:?} has more elements than can be counted"),
        )
    })
}
