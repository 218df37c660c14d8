//! What a reader lists.

use std::sync::Arc;

use super::part::Part;
use crate::error::{Error, ErrorKind, Result};
use crate::pickle::NodeId;
use crate::{Dtype, Tensor};

/// A tensor of an open checkpoint, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorEntry {
    pub(super) name: Arc<str>,
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: u64,
    pub(super) storage: Option<usize>,
    pub(super) layout: &'static str,
    pub(super) is_array: bool,
    pub(super) place: Place,
}

/// Where a tensor is found.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The file.
    pub(super) part: Arc<Part>,
    /// Its node in the graph of a PyTorch file.
    pub(super) node: Option<NodeId>,
    /// The name in a safetensors file, where it is another one.
    pub(super) kept: Option<Arc<str>>,
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.part, &other.part) && (self.node, &self.kept) == (other.node, &other.kept)
    }
}

impl Eq for Place {}

impl TensorEntry {
    /// The tensor.
    ///
    /// # Errors
    /// When its layout has no plain bytes (a sparse tensor, or one on the meta device), it does not
    /// lie within its storage, or the storage's bytes do not match their checksum.
    pub fn tensor(&self) -> Result<Tensor> {
        let place = &self.place;
        let stored = place.kept.as_ref().unwrap_or(&self.name);
        place
            .part
            .tensor(place.node, stored)
            .transpose()
            .unwrap_or_else(|| Err(Error::new(ErrorKind::NoSuchTensor)))
            .map_err(|error| error.in_tensor(&self.name))
    }

    /// Its node in the graph of a PyTorch file.
    pub(crate) fn node(&self) -> Option<NodeId> {
        self.place.node
    }

    /// Whether the file has it as an array of NumPy.
    pub(crate) fn is_array(&self) -> bool {
        self.is_array
    }

    /// The name: mapping keys, sequence indices and attribute names joined with `.`. A tensor that
    /// is the whole of its file has the empty name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Elements along each dimension; empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Bytes of the tensor when contiguous: elements times the size of one, or, where a byte holds
    /// several of them, as many bytes as they fill. Of a nested tensor, those of its values.
    pub fn byte_len(&self) -> u64 {
        self.bytes
    }

    /// A number that tensors of one storage share, and only they; none for a tensor without a
    /// storage of its own, such as a sparse one, or one that the file holds as a Python number.
    pub fn storage(&self) -> Option<usize> {
        self.storage
    }

    /// PyTorch's name of the layout: `strided`, `quantized`, `sparse_coo`, `meta` and so on.
    pub fn layout_name(&self) -> &'static str {
        self.layout
    }
}

/// Bytes of a contiguous tensor; as many as fit, where the shape of one without bytes is immense.
pub(super) fn byte_len(dtype: Dtype, shape: &[usize]) -> u64 {
    let sizes = shape.iter();
    let elements = sizes.fold(1u64, |product, &size| product.saturating_mul(size as u64));
    elements
        .div_ceil(dtype.elements_per_unit() as u64)
        .saturating_mul(dtype.size() as u64)
}

/// A value of an open checkpoint that is no tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherEntry {
    pub(super) path: Arc<str>,
    pub(super) description: String,
    pub(super) node: Option<NodeId>,
    pub(super) is_flattened: bool,
}

impl OtherEntry {
    /// Whether it is a tensor of a class of its own, whose parts are listed below its name.
    pub(crate) fn is_flattened(&self) -> bool {
        self.is_flattened
    }

    /// Its node in the graph of a single PyTorch file.
    pub(crate) fn node(&self) -> Option<NodeId> {
        self.node
    }

    /// Where the value is: named as a tensor would be.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What it is, such as ``the integer `5` `` or ``an object of `argparse.Namespace` ``.
    pub fn description(&self) -> &str {
        &self.description
    }
}
