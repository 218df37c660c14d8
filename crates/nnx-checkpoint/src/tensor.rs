//! Tensors as PyTorch has them: views over storages.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::{Dtype, Limits};

/// The bytes that one or more tensors view, little-endian. Cheap to clone; clones are the same
/// storage.
#[derive(Clone)]
pub struct Storage(Arc<StorageInner>);

struct StorageInner {
    bytes: Bytes,
    location: String,
}

impl Storage {
    /// A storage of these bytes on the CPU.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self::at(bytes, "cpu")
    }

    /// A storage that PyTorch had on the device `location`, such as `cuda:0`.
    pub fn at(bytes: impl Into<Bytes>, location: impl Into<String>) -> Self {
        Self(Arc::new(StorageInner {
            bytes: bytes.into(),
            location: location.into(),
        }))
    }

    /// The bytes, little-endian.
    pub fn bytes(&self) -> &Bytes {
        &self.0.bytes
    }

    /// The device the file names: `cpu`, `cuda:0`, `mps`.
    pub fn location(&self) -> &str {
        &self.0.location
    }

    /// Whether both are one storage, as the tensors of tied weights have it.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A number that equal storages, and only they, share while any of them lives.
    pub fn identity(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

/// Sizes, not bytes: a storage may hold gigabytes.
impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage")
            .field("bytes", &self.bytes().len())
            .field("location", &self.location())
            .finish()
    }
}

/// What Python object a saved tensor was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TensorClass {
    /// `torch.Tensor`.
    Tensor,
    /// `torch.nn.Parameter`.
    Parameter,
}

/// A view of a storage: shape, strides and offset count elements, not bytes. A `Tensor` that
/// exists lies within its storage.
#[derive(Clone, Debug)]
pub struct Tensor {
    storage: Storage,
    dtype: Dtype,
    offset: usize,
    shape: Vec<usize>,
    strides: Vec<usize>,
    class: TensorClass,
    requires_grad: bool,
}

impl Tensor {
    /// A contiguous tensor of its own bytes: row-major, little-endian.
    ///
    /// # Errors
    /// When the number of bytes is not that of the shape.
    pub fn from_bytes(dtype: Dtype, shape: &[usize], bytes: impl Into<Bytes>) -> Result<Self> {
        let storage = Storage::new(bytes);
        let have = storage.bytes().len();
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
    /// When shape and strides differ in length, the sizes overflow, or an element would lie outside
    /// the storage.
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
        let end = end_of_view(dtype, offset, shape, strides).ok_or_else(|| {
            Error::malformed(format!(
                "offset {offset}, shape {shape:?} and strides {strides:?} overflow"
            ))
        })?;
        let have = storage.bytes().len();
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

    /// Elements of the view.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Bytes of the view when contiguous: elements times the size of one.
    pub fn byte_len(&self) -> usize {
        self.elements().saturating_mul(self.dtype.size())
    }

    /// Whether the elements lie one behind the other in row-major order.
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

    /// The elements in row-major order, little-endian: borrowed from the storage when they lie so,
    /// else gathered. Uses the default [`Limits`].
    ///
    /// # Errors
    /// When gathering would need more than [`Limits::max_expanded_bytes`] beyond the storage.
    pub fn to_bytes(&self) -> Result<Cow<'_, [u8]>> {
        self.to_bytes_within(&Limits::default())
    }

    /// [`to_bytes`](Self::to_bytes) under limits of your own.
    ///
    /// # Errors
    /// When gathering would need more than [`Limits::max_expanded_bytes`] beyond the storage.
    pub fn to_bytes_within(&self, limits: &Limits) -> Result<Cow<'_, [u8]>> {
        let storage = self.storage.bytes();
        let len = self.byte_len();
        if self.is_contiguous() {
            let start = if len == 0 {
                0
            } else {
                self.offset.saturating_mul(self.dtype.size())
            };
            return storage
                .get(start..start.saturating_add(len))
                .map(Cow::Borrowed)
                .ok_or_else(|| Error::malformed("a tensor lies outside its storage"));
        }
        let expanded = len.saturating_sub(storage.len()) as u64;
        if expanded > limits.max_expanded_bytes {
            return Err(Error::limit(
                "max_expanded_bytes",
                limits.max_expanded_bytes,
                expanded,
            ));
        }
        gather(self).map(Cow::Owned)
    }
}

/// Strides of a row-major tensor of that shape, as PyTorch counts them (a size of zero counts as
/// one).
///
/// # Errors
/// When a product of sizes overflows.
pub fn contiguous_strides(shape: &[usize]) -> Result<Vec<usize>> {
    let mut strides = vec![1; shape.len()];
    let mut step: usize = 1;
    for (stride, &size) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step
            .checked_mul(size.max(1))
            .ok_or_else(|| Error::malformed(format!("the sizes of shape {shape:?} overflow")))?;
    }
    Ok(strides)
}

/// The byte behind the last element of a view, or none when a number on the way overflows.
fn end_of_view(dtype: Dtype, offset: usize, shape: &[usize], strides: &[usize]) -> Option<usize> {
    shape
        .iter()
        .try_fold(dtype.size(), |bytes, &size| bytes.checked_mul(size.max(1)))?;
    let start = offset.checked_mul(dtype.size())?;
    if shape.contains(&0) {
        // PyTorch lets an empty view start anywhere; it touches nothing.
        return Some(0);
    }
    let mut last = 0usize;
    for (&size, &stride) in shape.iter().zip(strides) {
        last = last.checked_add(size.checked_sub(1)?.checked_mul(stride)?)?;
    }
    last.checked_add(1)?
        .checked_mul(dtype.size())?
        .checked_add(start)
}

/// Copies the elements of a strided view into row-major order.
fn gather(tensor: &Tensor) -> Result<Vec<u8>> {
    let size = tensor.dtype.size();
    let outside = || Error::malformed("a tensor lies outside its storage");
    let mut out = Vec::new();
    out.try_reserve_exact(tensor.byte_len())
        .map_err(|_| Error::unsupported(format!("no memory for {} bytes", tensor.byte_len())))?;

    // The innermost dimensions that are contiguous are copied as one run.
    let (mut outer, mut run) = (tensor.shape.len(), 1usize);
    for (&dim, &stride) in tensor.shape.iter().zip(&tensor.strides).rev() {
        if dim != 1 && stride != run {
            break;
        }
        run = run.saturating_mul(dim);
        outer = outer.saturating_sub(1);
    }
    let run_bytes = run.saturating_mul(size);
    let dims: Vec<(usize, usize)> = tensor
        .shape
        .iter()
        .copied()
        .zip(tensor.strides.iter().copied())
        .take(outer)
        .collect();

    let bytes = tensor.storage.bytes();
    let mut index = vec![0usize; dims.len()];
    let mut position = tensor.offset;
    loop {
        let start = position.saturating_mul(size);
        out.extend_from_slice(
            bytes
                .get(start..start.saturating_add(run_bytes))
                .ok_or_else(outside)?,
        );
        // Step the odometer: the last dimension first.
        let mut carried = true;
        for (count, &(dim, stride)) in index.iter_mut().zip(&dims).rev() {
            *count = count.saturating_add(1);
            position = position.saturating_add(stride);
            if *count < dim {
                carried = false;
                break;
            }
            position = position.saturating_sub(stride.saturating_mul(dim));
            *count = 0;
        }
        if carried {
            return Ok(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(count: u8) -> Storage {
        Storage::new((0..count).collect::<Vec<u8>>())
    }

    #[track_caller]
    fn check(offset: usize, shape: &[usize], strides: &[usize], expected: &[u8]) {
        let tensor = Tensor::view(bytes(12), Dtype::UInt8, offset, shape, strides).unwrap();
        assert_eq!(&*tensor.to_bytes().unwrap(), expected);
    }

    #[test]
    fn contiguous_views_are_borrowed() {
        let tensor = Tensor::view(bytes(12), Dtype::UInt8, 2, &[2, 3], &[3, 1]).unwrap();
        assert!(matches!(
            tensor.to_bytes().unwrap(),
            Cow::Borrowed([2, 3, 4, 5, 6, 7])
        ));
    }

    #[test]
    fn strided_views_are_gathered_as_torch_reads_them() {
        check(0, &[4, 3], &[1, 4], &[0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
        check(1, &[3], &[3], &[1, 4, 7]);
        check(0, &[2, 2], &[0, 1], &[0, 1, 0, 1]);
        check(0, &[2, 2, 2], &[6, 1, 3], &[0, 3, 1, 4, 6, 9, 7, 10]);
        check(5, &[], &[], &[5]);
        check(0, &[1, 3], &[99, 1], &[0, 1, 2]);
        check(100, &[0, 3], &[3, 1], &[]);
    }

    #[test]
    fn a_view_outside_its_storage_is_refused() {
        for (offset, shape, strides) in [
            (0, vec![13], vec![1]),
            (11, vec![2], vec![1]),
            (0, vec![2, 2], vec![11, 1]),
            (usize::MAX, vec![1], vec![1]),
            (0, vec![usize::MAX, 2], vec![0, 0]),
            (0, vec![2], vec![usize::MAX]),
            (0, vec![2], vec![1, 1]),
        ] {
            assert!(Tensor::view(bytes(12), Dtype::UInt8, offset, &shape, &strides).is_err());
        }
    }

    #[test]
    fn a_broadcast_bomb_meets_the_limit() {
        let bomb = Tensor::view(bytes(1), Dtype::UInt8, 0, &[1 << 40], &[0]).unwrap();
        let error = bomb.to_bytes().unwrap_err();
        assert!(error.to_string().contains("max_expanded_bytes"), "{error}");
        let small = Tensor::view(bytes(1), Dtype::UInt8, 0, &[3], &[0]).unwrap();
        assert!(
            small
                .to_bytes_within(&Limits::default().max_expanded_bytes(1))
                .is_err()
        );
        assert!(
            small
                .to_bytes_within(&Limits::default().max_expanded_bytes(2))
                .is_ok()
        );
    }
}
