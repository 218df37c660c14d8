//! A pickle's description of a tensor.

use crate::pickle::NodeId;
use crate::{Dtype, TensorClass};

/// A tensor without its bytes: its description in the pickle.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// The element type.
    pub dtype: Dtype,
    /// Elements along each dimension. Of a nested tensor, whose parts differ in shape, only the
    /// number of parts.
    pub shape: Vec<usize>,
    /// The Python class that the tensor was saved as.
    pub class: TensorClass,
    /// Whether autograd was to track the tensor.
    pub requires_grad: bool,
    /// The Python attributes that were set on the tensor, where there were some: the state that
    /// `_rebuild_parameter_with_state` and `_rebuild_from_type_v2` restore.
    pub attributes: Option<NodeId>,
    /// Where the elements are.
    pub layout: Layout,
}

/// Where the elements of a tensor are. Offsets and strides count elements.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Layout {
    /// A view of a storage.
    #[non_exhaustive]
    Strided {
        /// The node of the storage (or of the view of one) that the tensor views.
        storage: NodeId,
        /// Elements before the first one.
        offset: usize,
        /// Elements between neighbours along each dimension.
        strides: Vec<usize>,
        /// Whether the values are the complex conjugates of those in the storage.
        conj: bool,
        /// Whether the values are the negatives of those in the storage.
        neg: bool,
    },
    /// A view of a storage of integers that represent numbers.
    #[non_exhaustive]
    Quantized {
        /// The node of the storage (or of the view of one) that the tensor views.
        storage: NodeId,
        /// Elements before the first one.
        offset: usize,
        /// Elements between neighbours along each dimension.
        strides: Vec<usize>,
        /// How the integers map to numbers.
        quantizer: QuantizerInfo,
    },
    /// Only the elements that are not zero, and where they belong.
    #[non_exhaustive]
    Sparse {
        /// How the places are written down.
        kind: SparseKind,
        /// The parts, each a tensor of its own, by the names of PyTorch's accessors: `indices`,
        /// `crow_indices`, `col_indices`, `ccol_indices`, `row_indices`, `values`.
        parts: Vec<(&'static str, NodeId)>,
        /// Whether every place of a COO tensor is stated once and in order, where the file tells.
        coalesced: Option<bool>,
    },
    /// A tensor on the device `meta`: there are no elements.
    #[non_exhaustive]
    Meta {
        /// Elements between neighbours along each dimension.
        strides: Vec<usize>,
    },
    /// Tensors of different shapes in one buffer.
    #[non_exhaustive]
    Nested {
        /// The parts, each a tensor of its own: `values`, `sizes`, `strides`, `offsets`; of the
        /// jagged layout `values`, `offsets` and, where they are stated, `lengths`.
        parts: Vec<(&'static str, NodeId)>,
        /// Of the jagged layout (`torch.jagged`), the one dimension along which the tensors differ
        /// in size.
        ragged_dim: Option<usize>,
    },
    /// A Python class that looks like a tensor and keeps its elements in attributes of its own.
    #[non_exhaustive]
    Wrapper {
        /// The node of the class.
        class: NodeId,
        /// Elements before the first one, as the class states it.
        offset: usize,
        /// Elements between neighbours along each dimension, as the class states them.
        strides: Vec<usize>,
    },
}

impl Layout {
    /// A name for people and scripts: `strided`, `quantized`, `sparse_coo` and its kind, `meta`,
    /// `nested`, `wrapper`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Strided { .. } => "strided",
            Self::Quantized { .. } => "quantized",
            Self::Sparse { kind, .. } => kind.name(),
            Self::Meta { .. } => "meta",
            Self::Nested { .. } => "nested",
            Self::Wrapper { .. } => "wrapper",
        }
    }

    /// The node of the storage that is viewed, if one is.
    pub fn storage(&self) -> Option<NodeId> {
        match self {
            Self::Strided { storage, .. } | Self::Quantized { storage, .. } => Some(*storage),
            _ => None,
        }
    }

    /// The tensors that this one is made of: those of a sparse and of a nested tensor.
    pub fn parts(&self) -> &[(&'static str, NodeId)] {
        match self {
            Self::Sparse { parts, .. } | Self::Nested { parts, .. } => parts,
            _ => &[],
        }
    }
}

/// The sparse layouts of PyTorch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SparseKind {
    /// Coordinates: `torch.sparse_coo`.
    Coo,
    /// Compressed rows: `torch.sparse_csr`.
    Csr,
    /// Compressed columns: `torch.sparse_csc`.
    Csc,
    /// Compressed rows of blocks: `torch.sparse_bsr`.
    Bsr,
    /// Compressed columns of blocks: `torch.sparse_bsc`.
    Bsc,
}

impl SparseKind {
    /// PyTorch's name, without `torch.`: `sparse_coo`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Coo => "sparse_coo",
            Self::Csr => "sparse_csr",
            Self::Csc => "sparse_csc",
            Self::Bsr => "sparse_bsr",
            Self::Bsc => "sparse_bsc",
        }
    }

    /// The kind of that name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::Coo, Self::Csr, Self::Csc, Self::Bsr, Self::Bsc]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

/// How the integers of a quantised tensor map to numbers, as far as the pickle alone says it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum QuantizerInfo {
    /// One scale and zero point for all: `torch.per_tensor_affine`.
    #[non_exhaustive]
    PerTensor {
        /// A step of the integer.
        scale: f64,
        /// The integer that represents zero.
        zero_point: i64,
    },
    /// A scale and zero point for each index along one dimension: `torch.per_channel_affine`.
    #[non_exhaustive]
    PerChannel {
        /// The dimension.
        axis: usize,
        /// The node of the scales: a tensor, in old files a list.
        scales: NodeId,
        /// The node of the zero points: a tensor, in old files a list.
        zero_points: NodeId,
    },
}
