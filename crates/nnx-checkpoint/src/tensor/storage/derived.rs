//! Storages that are computed: gathered, conjugated, negated or cast.

use std::ops::Range;
use std::sync::Arc;

use super::Storage;
use crate::error::{Error, Result};
use crate::source::CHUNK_BYTES;
use crate::{Caster, Dtype, Limits, Tensor};

/// A tensor's elements in row-major order, cast where they are to be of another dtype.
#[derive(Debug)]
pub(crate) struct DerivedTensor {
    /// The tensor as the source has it.
    tensor: Tensor,
    cast: Option<Caster>,
    limits: Limits,
}

impl DerivedTensor {
    /// The elements of a tensor, cast to `dtype`.
    ///
    /// # Errors
    /// When there is no such cast, or gathering would need more than
    /// [`Limits::max_expanded_bytes`] beyond the storage.
    pub(crate) fn new(tensor: Tensor, dtype: Dtype, limits: &Limits) -> Result<Self> {
        let stored = tensor.storage().byte_len();
        let expanded = tensor.byte_len().saturating_sub(stored) as u64;
        if expanded > limits.max_expanded_bytes {
            return Err(Error::limit(
                "max_expanded_bytes",
                limits.max_expanded_bytes,
                expanded,
            ));
        }
        let cast = (dtype != tensor.dtype())
            .then(|| Caster::new(tensor.dtype(), dtype))
            .transpose()?;
        Ok(Self {
            tensor,
            cast,
            limits: *limits,
        })
    }

    /// How many bytes come out.
    pub(super) fn byte_len(&self) -> usize {
        match self.cast {
            None => self.tensor.byte_len(),
            Some(cast) => self.tensor.elements().saturating_mul(cast.to().size()),
        }
    }

    /// The storage that the elements are of.
    pub(super) fn source(&self) -> &Storage {
        self.tensor.storage()
    }

    /// The device of the storage that the elements are of.
    pub(super) fn location(&self) -> Arc<str> {
        Arc::clone(&self.tensor.storage().0.location)
    }

    /// Computes the bytes, piece by piece.
    ///
    /// A storage that is in a file as it is is not read whole for a part of it, and not kept in
    /// memory; its checksum covers all of it and is compared once, whatever number of tensors are
    /// parts of it.
    ///
    /// # Errors
    /// When the storage cannot be read, there is no memory for the tensor, or `each` fails.
    pub(super) fn chunks(&self, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let storage = self.tensor.storage();
        let (held, offset) = match storage.verbatim()? {
            Some(range) => {
                storage.verify(&range)?;
                let Range { start, end } = self.tensor.byte_range();
                let part = range.slice(start as u64, end.saturating_sub(start) as u64)?;
                if self.tensor.is_contiguous() && !self.tensor.is_conj() && !self.tensor.is_neg() {
                    return part.chunks(&mut |chunk| self.cast(chunk, each));
                }
                (part.copied()?, 0)
            }
            None => (storage.load()?, self.tensor.offset()),
        };
        let tensor = self.tensor.over(Storage::new(held), offset)?;
        let bytes = tensor.to_bytes_within(&self.limits)?;
        bytes
            .chunks(CHUNK_BYTES)
            .try_for_each(|chunk| self.cast(chunk, each))
    }

    fn cast(&self, chunk: &[u8], each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let Some(cast) = &self.cast else {
            return each(chunk);
        };
        let mut made = Vec::new();
        cast.cast_into(chunk, &mut made)?;
        each(&made)
    }
}
