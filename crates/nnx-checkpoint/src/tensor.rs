//! Tensors as PyTorch has them: views over storages.

use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::{Dtype, Limits};

mod bounds;
mod gather;
mod lazy_bits;
mod quantizer;
#[cfg(feature = "safetensors")]
mod safetensors_view;
mod storage;

#[cfg(test)]
mod tests;

pub use bounds::contiguous_strides;
pub use quantizer::Quantizer;
#[cfg(feature = "safetensors")]
pub use safetensors_view::SafeTensorsView;
pub(crate) use storage::{
    ByteOrder, DerivedTensor, JoinedTensor, Record, RecordContent, StoragePart, StoredRange,
    TensorChunk, TensorChunks,
};
pub use storage::{Chunk, Storage};

#[cfg(feature = "candle")]
pub(crate) use gather::reserved;
use lazy_bits::LazyBits;

/// The class of Python object that a saved tensor was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TensorClass {
    /// `torch.Tensor`.
    Tensor,
    /// `torch.nn.Parameter`.
    Parameter,
    /// Another subclass of `torch.Tensor`, of which this is the plain tensor beneath.
    Subclass,
}

/// A view of a storage: shape, strides and offset count elements, not bytes. A `Tensor` that
/// exists is within its storage.
#[derive(Clone, Debug)]
pub struct Tensor {
    storage: Storage,
    dtype: Dtype,
    offset: usize,
    shape: Vec<usize>,
    strides: Vec<usize>,
    class: TensorClass,
    requires_grad: bool,
    lazy_bits: LazyBits,
    quantizer: Option<Arc<Quantizer>>,
}

impl Tensor {
    /// A contiguous tensor of its own bytes: row-major, little-endian.
    ///
    /// # Errors
    /// When the number of bytes is not that of the shape.
    pub fn from_bytes(dtype: Dtype, shape: &[usize], bytes: impl Into<Bytes>) -> Result<Self> {
        Self::contiguous(dtype, shape, Storage::new(bytes))
    }

    /// A contiguous tensor of all of a storage.
    ///
    /// # Errors
    /// When the number of bytes is not that of the shape.
    pub(crate) fn contiguous(dtype: Dtype, shape: &[usize], storage: Storage) -> Result<Self> {
        let have = storage.byte_len();
        let tensor = Self::view(storage, dtype, 0, shape, &contiguous_strides(shape)?)?;
        if tensor.byte_len() != have {
            return Err(Error::malformed(format!(
                "a {dtype} tensor of shape {shape:?} takes {} bytes, got {have}",
                tensor.byte_len()
            )));
        }
        Ok(tensor)
    }

    /// A view over a storage, all in elements: PyTorch's `torch.as_strided`.
    ///
    /// # Errors
    /// When shape and strides differ in length, the sizes overflow, or an element would be outside
    /// the storage; and when the dtype [packs](Dtype::is_packed) its elements and the view does not
    /// begin its storage or is not row-major: PyTorch itself has no meaning for such a one.
    pub fn view(
        storage: Storage,
        dtype: Dtype,
        offset: usize,
        shape: &[usize],
        strides: &[usize],
    ) -> Result<Self> {
        if shape.len() != strides.len() {
            return Err(Error::malformed(format!(
                "shape {shape:?} has {} dimensions, strides {strides:?} have {}",
                shape.len(),
                strides.len()
            )));
        }
        let end = bounds::end_of_view(dtype, offset, shape, strides)?.ok_or_else(|| {
            Error::malformed(format!(
                "offset {offset}, shape {shape:?} and strides {strides:?} overflow"
            ))
        })?;
        let have = storage.byte_len();
        if end > have {
            return Err(Error::malformed(format!(
                "a {dtype} tensor with offset {offset}, shape {shape:?} and strides {strides:?} \
                 reaches byte {end} of a storage of {have}"
            )));
        }
        Ok(Self {
            storage,
            dtype,
            offset,
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            class: TensorClass::Tensor,
            requires_grad: false,
            lazy_bits: LazyBits::default(),
            quantizer: None,
        })
    }

    /// The same tensor as another Python class.
    #[must_use]
    pub fn with_class(mut self, class: TensorClass) -> Self {
        self.class = class;
        self
    }

    /// The same tensor with `requires_grad` set.
    #[must_use]
    pub fn with_requires_grad(mut self, requires_grad: bool) -> Self {
        self.requires_grad = requires_grad;
        self
    }

    /// The same tensor with the quantiser of its integers.
    ///
    /// # Errors
    /// When the dtype is not a quantised one, or the scales and zero points are not one for each
    /// index along their dimension.
    pub fn with_quantizer(mut self, quantizer: Quantizer) -> Result<Self> {
        if !self.dtype.is_quantized() {
            return Err(Error::malformed(format!(
                "scale and zero point of a {} tensor, whose elements are no quantised integers",
                self.dtype
            )));
        }
        quantizer.check(&self.shape)?;
        self.quantizer = Some(Arc::new(quantizer));
        Ok(self)
    }

    /// The same view with PyTorch's lazy bits set: the values are those of the storage conjugated,
    /// negated or both.
    pub(crate) fn with_lazy_bits(mut self, conj: bool, neg: bool) -> Result<Self> {
        self.lazy_bits = LazyBits::new(self.dtype, conj, neg)?;
        Ok(self)
    }

    /// The same view of another storage, at another offset.
    ///
    /// # Errors
    /// When an element would be outside the storage.
    pub(crate) fn over(&self, storage: Storage, offset: usize) -> Result<Self> {
        let view = Self::view(storage, self.dtype, offset, &self.shape, &self.strides)?;
        Ok(Self {
            storage: view.storage,
            offset: view.offset,
            ..self.clone()
        })
    }

    /// The bytes of the storage from the first element of the view to the last one.
    pub(crate) fn byte_range(&self) -> Range<usize> {
        let start = self.offset.saturating_mul(self.dtype.size());
        let end = bounds::end_of_view(self.dtype, self.offset, &self.shape, &self.strides);
        match end {
            Ok(Some(end)) if self.elements() > 0 => start..end,
            _ => 0..0,
        }
    }

    /// The storage viewed.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Elements before the first one of the view.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Elements along each dimension; empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Elements between neighbours along each dimension.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// The Python class the tensor was saved as.
    pub fn class(&self) -> TensorClass {
        self.class
    }

    /// Whether autograd was to track the tensor.
    pub fn requires_grad(&self) -> bool {
        self.requires_grad
    }

    /// Whether the values are the complex conjugates of those in the storage: PyTorch's
    /// `tensor.is_conj()`. [`to_bytes`](Self::to_bytes) resolves it.
    pub fn is_conj(&self) -> bool {
        self.lazy_bits.conj()
    }

    /// Whether the values are the negatives of those in the storage: PyTorch's `tensor.is_neg()`.
    /// [`to_bytes`](Self::to_bytes) resolves it.
    pub fn is_neg(&self) -> bool {
        self.lazy_bits.neg()
    }

    /// How the integers of a quantised tensor map to numbers.
    pub fn quantizer(&self) -> Option<&Quantizer> {
        self.quantizer.as_deref()
    }

    /// Elements of the view.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Bytes of the view when contiguous: elements times the size of one, or, where a byte holds
    /// several of them, as many bytes as they fill.
    pub fn byte_len(&self) -> usize {
        let units = self.elements().div_ceil(self.dtype.elements_per_unit());
        units.saturating_mul(self.dtype.size())
    }

    /// Whether the elements follow one another in row-major order.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.elements() == 0
            || self
                .shape
                .iter()
                .zip(&self.strides)
                .rev()
                .all(|(&size, &stride)| {
                    let fits = size == 1 || stride == expected;
                    expected = expected.saturating_mul(size);
                    fits
                })
    }

    /// The elements in row-major order, little-endian: borrowed from the storage when they are in
    /// that order, else gathered, and conjugated or negated where the view is. Of a dtype that
    /// [packs](Dtype::is_packed) its elements, the bytes that hold them: PyTorch's
    /// `tensor.int_repr()`. Uses the default [`Limits`].
    ///
    /// # Errors
    /// When the storage cannot be read (see [`Storage::bytes`]), or gathering would need more than
    /// [`Limits::max_expanded_bytes`] beyond it, or more memory than there is.
    pub fn to_bytes(&self) -> Result<Cow<'_, [u8]>> {
        self.to_bytes_within(&Limits::default())
    }

    /// [`to_bytes`](Self::to_bytes) under limits of your own.
    ///
    /// # Errors
    /// As for [`to_bytes`](Self::to_bytes).
    pub fn to_bytes_within(&self, limits: &Limits) -> Result<Cow<'_, [u8]>> {
        let bytes = if self.is_contiguous() {
            Cow::Borrowed(self.contiguous_bytes()?)
        } else {
            let expanded = self.byte_len().saturating_sub(self.storage.byte_len()) as u64;
            if expanded > limits.max_expanded_bytes {
                return Err(Error::limit(
                    "max_expanded_bytes",
                    limits.max_expanded_bytes,
                    expanded,
                ));
            }
            Cow::Owned(gather::gather(self)?)
        };
        if self.lazy_bits.is_plain() {
            return Ok(bytes);
        }
        let mut bytes = match bytes {
            Cow::Borrowed(bytes) => {
                let mut copy = gather::reserved(bytes.len())?;
                copy.extend_from_slice(bytes);
                copy
            }
            Cow::Owned(bytes) => bytes,
        };
        self.lazy_bits.resolve(&mut bytes, self.dtype);
        Ok(Cow::Owned(bytes))
    }

    /// The elements in row-major order, little-endian, in memory of their own: for a caller who
    /// keeps them, or changes them. Uses the default [`Limits`].
    ///
    /// Where the elements are in row-major order already they are copied once, into huge pages where
    /// the system has them; [`to_bytes`](Self::to_bytes) does not copy them at all.
    ///
    /// # Errors
    /// As for [`to_bytes`](Self::to_bytes), and when there is not the memory.
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        match self.to_bytes()? {
            Cow::Owned(bytes) => Ok(bytes),
            Cow::Borrowed(bytes) => {
                let mut copy = gather::reserved(bytes.len())?;
                copy.extend_from_slice(bytes);
                Ok(copy)
            }
        }
    }

    /// Writes the elements in row-major order, little-endian. Where they are so in a file they are not
    /// held in memory, and neither are those of a storage that nobody read so far.
    ///
    /// # Errors
    /// As for [`to_bytes`](Self::to_bytes), and when writing fails.
    pub fn copy_to(&self, out: &mut (impl Write + ?Sized)) -> Result<()> {
        self.write_within(out, &Limits::default())
    }

    /// [`copy_to`](Self::copy_to) under limits of your own.
    ///
    /// # Errors
    /// As for [`copy_to`](Self::copy_to).
    pub(crate) fn write_within(
        &self,
        out: &mut (impl Write + ?Sized),
        limits: &Limits,
    ) -> Result<()> {
        self.row_major(limits)?.copy_to(out)
    }

    /// The storage of the elements in row-major order, and of nothing else.
    ///
    /// # Errors
    /// When gathering would need more than [`Limits::max_expanded_bytes`] beyond the storage.
    pub(crate) fn row_major(&self, limits: &Limits) -> Result<Storage> {
        if !self.is_contiguous() || !self.lazy_bits.is_plain() {
            let derived = DerivedTensor::new(self.clone(), self.dtype, limits)?;
            return Ok(Storage::from_derived(derived));
        }
        if self.byte_len() == self.storage.byte_len() {
            return Ok(self.storage.clone());
        }
        self.storage.part(self.byte_range())
    }

    fn contiguous_bytes(&self) -> Result<&[u8]> {
        let len = self.byte_len();
        let start = if len == 0 {
            0
        } else {
            self.offset.saturating_mul(self.dtype.size())
        };
        self.storage
            .bytes()?
            .get(start..start.saturating_add(len))
            .ok_or_else(|| Error::malformed("a tensor lies outside its storage"))
    }
}
