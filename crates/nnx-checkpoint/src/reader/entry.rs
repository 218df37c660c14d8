//! The entries that a reader lists.

use std::fmt;
use std::sync::Arc;

use super::open_file::OpenFile;
use super::table::{TensorRow, TensorTable};
use crate::error::{Error, ErrorKind, Result};
use crate::pickle::NodeId;
use crate::torch::TensorInfo;
use crate::{Dtype, Tensor};

/// A tensor of an open checkpoint, without its bytes.
#[derive(Clone)]
pub struct TensorEntry {
    /// The tables of the file that it is in.
    table: Arc<TensorTable>,
    row: usize,
    /// The file.
    file: Arc<OpenFile>,
    /// How many storages the files before that one have.
    pub(super) first_storage: usize,
    /// The name, where it is a second one of the tensor of the row.
    alias: Option<Arc<str>>,
}

impl TensorEntry {
    /// The entry of each row of a file.
    pub(super) fn from_table(table: TensorTable, file: OpenFile) -> Vec<Self> {
        let (table, file) = (Arc::new(table), Arc::new(file));
        let rows = 0..table.len();
        rows.map(|row| Self {
            table: Arc::clone(&table),
            row,
            file: Arc::clone(&file),
            first_storage: 0,
            alias: None,
        })
        .collect()
    }

    /// The same tensor under another name.
    pub(super) fn with_alias(&self, name: &str) -> Self {
        Self {
            alias: Some(name.into()),
            ..self.clone()
        }
    }

    /// Whether the name is a second one of its tensor.
    pub(super) fn is_alias(&self) -> bool {
        self.alias.is_some()
    }

    /// The tensor, whose bytes were read and compared with their checksum.
    ///
    /// # Errors
    /// When its layout has no plain bytes (a sparse tensor, or one on the meta device), it is not
    /// within its storage, or the storage's bytes cannot be read or do not match their checksum.
    pub fn tensor(&self) -> Result<Tensor> {
        let tensor = self.unread_tensor()?;
        match tensor.storage().bytes() {
            Ok(_) => Ok(tensor),
            Err(error) => Err(error.in_tensor(self.name())),
        }
    }

    /// The tensor, whose bytes are read when they are asked for: the tensor tells then if they are
    /// not what the file states.
    ///
    /// # Errors
    /// As for [`tensor`](Self::tensor), except for errors in the storage's bytes.
    pub fn unread_tensor(&self) -> Result<Tensor> {
        let missing = || Error::new(ErrorKind::NoSuchTensor);
        let row = self.row().ok_or_else(missing)?;
        self.file
            .unread_tensor(row, self.name_in_file())
            .unwrap_or_else(|| Err(missing()))
            .map_err(|error| error.in_tensor(self.name()))
    }

    /// The pickle's description of a tensor of a PyTorch file; none for a number or an array that is
    /// listed as one.
    pub(crate) fn info(&self) -> Option<&TensorInfo> {
        self.file.info(self.row()?)
    }

    /// Its row in the table of its file; `None` for an entry without one.
    fn row(&self) -> Option<&TensorRow> {
        self.table.row(self.row)
    }

    /// Its node in the graph of a PyTorch file.
    pub(crate) fn node(&self) -> Option<NodeId> {
        self.row()?.node
    }

    /// Whether the file has it as an array of NumPy.
    pub(crate) fn is_array(&self) -> bool {
        self.row().is_some_and(|row| row.is_array)
    }

    /// The name that the file has for it.
    pub(super) fn name_in_file(&self) -> &str {
        self.row().map_or("", |row| self.table.name(row))
    }

    /// The name: mapping keys, sequence indices and attribute names joined with `.`. A tensor that
    /// is the whole of its file has the empty name.
    pub fn name(&self) -> &str {
        match &self.alias {
            Some(alias) => alias,
            None => self.name_in_file(),
        }
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        self.row().map_or(Dtype::UInt8, |row| row.dtype)
    }

    /// Elements along each dimension; empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        self.row().map_or(&[], |row| self.table.shape(row))
    }

    /// Bytes of the tensor when contiguous: elements times the size of one, or, where a byte holds
    /// several of them, as many bytes as they fill. Of a nested tensor, those of its values.
    pub fn byte_len(&self) -> u64 {
        self.row().map_or(0, |row| row.byte_len)
    }

    /// A number that tensors of one storage share, and only they; none for a tensor without a
    /// storage of its own, such as a sparse one, or one that the file holds as a Python number.
    pub fn storage(&self) -> Option<usize> {
        let storage = self.row()?.storage?;
        Some(storage.saturating_add(self.first_storage))
    }

    /// PyTorch's name of the layout: `strided`, `quantized`, `sparse_coo`, `meta` and so on.
    pub fn layout_name(&self) -> &'static str {
        self.row().map_or("", |row| row.layout)
    }

    /// The values by which two entries are compared.
    fn parts(&self) -> (&str, Dtype, &[usize], u64, Option<usize>, &str) {
        (
            self.name(),
            self.dtype(),
            self.shape(),
            self.byte_len(),
            self.storage(),
            self.layout_name(),
        )
    }
}

impl PartialEq for TensorEntry {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for TensorEntry {}

impl fmt::Debug for TensorEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorEntry")
            .field("name", &self.name())
            .field("dtype", &self.dtype())
            .field("shape", &self.shape())
            .field("storage", &self.storage())
            .field("layout", &self.layout_name())
            .finish_non_exhaustive()
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
pub struct NonTensorEntry {
    pub(super) path: Arc<str>,
    pub(super) description: String,
    pub(super) node: Option<NodeId>,
    pub(super) is_flattened: bool,
}

impl NonTensorEntry {
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

    /// A description, such as ``the integer `5` `` or ``an object of `argparse.Namespace` ``.
    pub fn description(&self) -> &str {
        &self.description
    }
}
