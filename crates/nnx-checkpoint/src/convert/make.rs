//! Bytes that are made: gathered, cast, inflated or turned round.

use std::ops::Range;
use std::sync::Arc;

use super::origin::{CHUNK_BYTES, Origin};
use crate::error::{Error, Result};
use crate::{Caster, Dtype, Limits, Storage, Tensor};

/// A tensor's elements in row-major order, cast where they are to be of another dtype.
#[derive(Debug)]
pub(super) struct Make {
    /// The tensor as the source has it.
    tensor: Tensor,
    origin: Arc<Origin>,
    cast: Option<Caster>,
}

impl Make {
    /// The elements of a tensor over bytes of that origin, cast to `dtype`.
    ///
    /// # Errors
    /// When there is no such cast, or gathering would need more than
    /// [`Limits::max_expanded_bytes`] beyond the storage.
    pub(super) fn new(
        tensor: Tensor,
        origin: Arc<Origin>,
        dtype: Dtype,
        limits: &Limits,
    ) -> Result<Self> {
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
            origin,
            cast,
        })
    }

    /// How many bytes come out.
    pub(super) fn byte_len(&self) -> usize {
        let size = self
            .cast
            .map_or(self.tensor.dtype(), |cast| cast.to())
            .size();
        self.tensor.elements().saturating_mul(size)
    }

    /// Where the bytes come from that this is made of.
    pub(super) fn origin(&self) -> &Arc<Origin> {
        &self.origin
    }

    /// Makes the bytes, piece by piece.
    ///
    /// # Errors
    /// When the source cannot be read, there is no memory for the tensor, or `each` fails.
    pub(super) fn run(
        &self,
        limits: &Limits,
        verify: bool,
        each: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let outside = || Error::malformed("a tensor lies outside its storage");
        let (storage, offset) = match &*self.origin {
            Origin::InPlace(stored) => {
                let Range { start, end } = self.tensor.byte_range();
                let extent = stored
                    .extent
                    .part(start, end.saturating_sub(start))
                    .ok_or_else(outside)?;
                if self.tensor.is_contiguous() && !self.tensor.is_conj() && !self.tensor.is_neg() {
                    return extent.chunks(&mut |chunk| self.cast(chunk, each));
                }
                (Storage::new(extent.read()?), 0)
            }
            Origin::Load(encoded) => (Storage::new(encoded.load(verify)?), self.tensor.offset()),
            Origin::Made(_) => {
                return Err(Error::unsupported("made bytes are not made over again"));
            }
        };
        let tensor = self.tensor.over(storage, offset)?;
        let bytes = tensor.to_bytes_within(limits)?;
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
