//! Where the elements of a chunk go.

use super::TensorChunk;
use crate::contiguous_strides;
use crate::error::{Error, Result};

/// The runs of a chunk: elements that follow one another in the chunk and in the whole. All numbers
/// are bytes.
pub(super) struct Runs {
    /// Bytes of a run.
    pub(super) len: usize,
    /// Bytes of all runs.
    pub(super) total: usize,
    /// Where in the whole the next run begins.
    pub(super) next: usize,
    /// The dimensions outside a run, the innermost one last.
    outer: Vec<OuterDim>,
}

struct OuterDim {
    index: usize,
    size: usize,
    /// Bytes of the whole between neighbours.
    stride: usize,
}

impl Runs {
    /// The runs of a chunk with at least one element.
    pub(super) fn new(shape: &[usize], chunk: &TensorChunk, element: usize) -> Result<Self> {
        let sizes = chunk.tensor.shape();
        let strides = contiguous_strides(shape)?;
        let is_inside = chunk.offsets.len() == shape.len()
            && sizes.len() == shape.len()
            && chunk
                .offsets
                .iter()
                .zip(sizes)
                .zip(shape)
                .all(|((&offset, &size), &whole)| {
                    offset.checked_add(size).is_some_and(|end| end <= whole)
                });
        if !is_inside {
            return Err(Error::malformed(format!(
                "a chunk with the offsets {:?} and the sizes {sizes:?} is not within a tensor of \
                 shape {shape:?}",
                chunk.offsets
            )));
        }
        // The elements of the whole are in memory's reach, so are these.
        let in_bytes = |count: usize| count.saturating_mul(element);
        let starts = chunk.offsets.iter().zip(&strides);
        let next = starts.fold(0usize, |sum, (&offset, &stride)| {
            sum.saturating_add(in_bytes(offset.saturating_mul(stride)))
        });
        let mut len = element;
        let mut outer = Vec::new();
        let mut is_whole = true;
        for ((&size, &whole), &stride) in sizes.iter().zip(shape).zip(&strides).rev() {
            if is_whole {
                len = len.saturating_mul(size);
                is_whole = size == whole;
            } else if size != 1 {
                outer.push(OuterDim {
                    index: 0,
                    size,
                    stride: in_bytes(stride),
                });
            }
        }
        outer.reverse();
        Ok(Self {
            len,
            total: in_bytes(chunk.tensor.elements()),
            next,
            outer,
        })
    }

    /// Goes on to the next run; `false` behind the last one.
    pub(super) fn advance(&mut self) -> bool {
        for dim in self.outer.iter_mut().rev() {
            dim.index = dim.index.saturating_add(1);
            self.next = self.next.saturating_add(dim.stride);
            if dim.index < dim.size {
                return true;
            }
            let back = dim.stride.saturating_mul(dim.size);
            self.next = self.next.saturating_sub(back);
            dim.index = 0;
        }
        false
    }
}
