//! The tensors of one file, in dense tables.

use std::ops::Range;

use crate::Dtype;
use crate::pickle::NodeId;

/// The listed tensors of one file. A file can have tens of thousands: their names are one
/// text, their shapes one list of sizes, and each entry of the listing is a row.
#[derive(Debug, Default)]
pub(super) struct TensorTable {
    names: String,
    sizes: Vec<usize>,
    rows: Vec<TensorRow>,
}

/// A tensor.
#[derive(Clone, Debug)]
pub(super) struct TensorRow {
    pub(super) name: Range<usize>,
    pub(super) shape: Range<usize>,
    pub(super) dtype: Dtype,
    /// Bytes of the tensor when contiguous.
    pub(super) byte_len: u64,
    /// The number of its storage among those of the file.
    pub(super) storage: Option<usize>,
    /// PyTorch's name of the layout.
    pub(super) layout: &'static str,
    /// Whether the file has it as an array of NumPy.
    pub(super) is_array: bool,
    /// Its node in the graph of a PyTorch file.
    pub(super) node: Option<NodeId>,
    /// Where among the [`TensorInfo`](crate::torch::TensorInfo) of the file its own is.
    pub(super) info: Option<usize>,
}

impl TensorRow {
    /// A row for a tensor of a storage of its own, or of none.
    pub(super) fn new(dtype: Dtype, byte_len: u64, layout: &'static str) -> Self {
        Self {
            name: 0..0,
            shape: 0..0,
            dtype,
            byte_len,
            storage: None,
            layout,
            is_array: false,
            node: None,
            info: None,
        }
    }
}

impl TensorTable {
    /// Adds a tensor.
    pub(super) fn push(&mut self, name: &str, shape: &[usize], row: TensorRow) {
        let (start, first) = (self.names.len(), self.sizes.len());
        self.names.push_str(name);
        self.sizes.extend_from_slice(shape);
        self.rows.push(TensorRow {
            name: start..self.names.len(),
            shape: first..self.sizes.len(),
            ..row
        });
    }

    /// How many tensors there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row of that number, if there is one.
    pub(super) fn row(&self, index: usize) -> Option<&TensorRow> {
        self.rows.get(index)
    }

    /// The name in a row of this table.
    pub(super) fn name(&self, row: &TensorRow) -> &str {
        self.names.get(row.name.clone()).unwrap_or_default()
    }

    /// The shape in a row of this table.
    pub(super) fn shape(&self, row: &TensorRow) -> &[usize] {
        self.sizes.get(row.shape.clone()).unwrap_or_default()
    }
}
