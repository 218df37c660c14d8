//! How NumPy pickles its dtypes, arrays and scalars.
//!
//! The functions and their arguments are those of NumPy's `ndarray.__reduce_ex__`,
//! `dtype.__reduce__` and `generic.__reduce__`; NumPy 2 moved `numpy.core` to `numpy._core`.

use crate::Dtype;
use crate::error::{Error, Result};
use crate::pickle::{Graph, Node, NodeId};

/// Dimensions that an array of NumPy can have. Many arrays can share one shape in a file, and each
/// gets a copy of it.
const MAX_RANK: usize = 64;

/// The dtypes of NumPy that are dtypes of PyTorch too, by NumPy's kind and size.
const NATIVE: &[(&str, Dtype)] = &[
    ("b1", Dtype::Bool),
    ("u1", Dtype::UInt8),
    ("i1", Dtype::Int8),
    ("u2", Dtype::UInt16),
    ("i2", Dtype::Int16),
    ("u4", Dtype::UInt32),
    ("i4", Dtype::Int32),
    ("u8", Dtype::UInt64),
    ("i8", Dtype::Int64),
    ("f2", Dtype::Float16),
    ("f4", Dtype::Float32),
    ("f8", Dtype::Float64),
    ("c8", Dtype::Complex64),
    ("c16", Dtype::Complex128),
];

/// The dtype of that kind and size, such as `f4`.
pub(crate) fn native(kind: &str) -> Option<Dtype> {
    NATIVE
        .iter()
        .find(|(native, _)| *native == kind)
        .map(|(_, dtype)| *dtype)
}

/// NumPy's kind and size of a dtype, such as `f4`.
#[cfg(feature = "nnx")]
pub(crate) fn kind(dtype: Dtype) -> Option<&'static str> {
    NATIVE
        .iter()
        .find(|(_, native)| *native == dtype)
        .map(|(kind, _)| *kind)
}

/// Kind and size of a dtype, such as `f4`, and its byte order: `<`, `>`, or `|` where it has none.
/// `None` for another object, and for a dtype whose state says nothing of an order.
pub(crate) fn dtype(graph: &Graph, id: NodeId) -> Option<(&str, &str)> {
    let (("numpy", "dtype"), &[kind, ..]) = graph.reduce(id)? else {
        return None;
    };
    // (version, byte order, subarray, names, fields, …)
    let state = graph.sequence(graph.object(id)?.state?)?;
    let order = graph.text(*state.get(1)?)?;
    matches!(order, "<" | ">" | "|").then_some((graph.text(kind)?, order))
}

/// Dtype and bytes of a scalar: `scalar(dtype, bytes)` of NumPy's module `multiarray`.
#[cfg(feature = "nnx")]
pub(crate) fn scalar(graph: &Graph, id: NodeId) -> Option<(NodeId, NodeId)> {
    match graph.reduce(id)? {
        (("numpy._core.multiarray" | "numpy.core.multiarray", "scalar"), &[dtype, bytes])
            if is_untouched(graph, id) && graph.object(id)?.state.is_none() =>
        {
            Some((dtype, bytes))
        }
        _ => None,
    }
}

/// An array whose elements are of a dtype that PyTorch has too.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub(crate) dtype: Dtype,
    /// Elements along each dimension.
    pub(crate) shape: Vec<usize>,
    /// Elements between neighbours along each dimension.
    pub(crate) strides: Vec<usize>,
    /// The node of the bytes of all elements.
    pub(crate) content: NodeId,
    pub(crate) is_big_endian: bool,
}

impl Array {
    /// The array that a node is. `None` for another object, and for an array of texts, dates,
    /// objects, records or another dtype that PyTorch does not have.
    ///
    /// # Errors
    /// When the arguments contradict each other. How many bytes the content has is not looked at.
    pub(crate) fn parse(graph: &Graph, id: NodeId) -> Option<Result<Self>> {
        let parts = Parts::from_node(graph, id)?;
        let (kind, order) = dtype(graph, parts.dtype)?;
        let dtype = native(kind)?;
        is_plain_dtype(graph, parts.dtype)?;
        Some(Self::laid_out(graph, &parts, dtype, order == ">"))
    }

    fn laid_out(graph: &Graph, parts: &Parts, dtype: Dtype, is_big_endian: bool) -> Result<Self> {
        let malformed = |what: &str, id| {
            Error::malformed(format!(
                "expected {what} of a NumPy array, found {}",
                graph.describe(id)
            ))
        };
        let counts = |id: NodeId, what: &str| -> Result<Vec<usize>> {
            let items = graph.sequence(id).filter(|items| items.len() <= MAX_RANK);
            let counts = items.and_then(|items| {
                let counts = items
                    .iter()
                    .map(|&item| usize::try_from(graph.int(item)?).ok());
                counts.collect()
            });
            counts.ok_or_else(|| malformed(what, id))
        };
        let mut shape = counts(parts.shape, "the sizes")?;
        let strides = strides(&shape, parts.order == Order::Columns)?;
        let mut array = Self {
            dtype,
            shape: shape.clone(),
            strides,
            content: parts.content,
            is_big_endian,
        };
        if let Order::Permuted(axes) = parts.order {
            let axes_node = axes;
            let axes = counts(axes_node, "the order of the axes")?;
            let is_each_once = (0..shape.len()).all(|axis| axes.contains(&axis));
            if axes.len() != shape.len() || !is_each_once {
                return Err(malformed("each axis once in the order", axes_node));
            }
            let permuted = |values: &[usize]| -> Vec<usize> {
                let picked = axes.iter().filter_map(|&axis| values.get(axis));
                picked.copied().collect()
            };
            array.strides = permuted(&array.strides);
            shape = permuted(&shape);
            array.shape = shape;
        }
        Ok(array)
    }

    /// Bytes of all elements; `None` where they overflow.
    pub(crate) fn byte_len(&self) -> Option<usize> {
        let mut sizes = self.shape.iter();
        sizes.try_fold(self.dtype.size(), |bytes, &size| bytes.checked_mul(size))
    }

    /// Checks that the content has as many bytes as the array takes.
    ///
    /// # Errors
    /// When it has another number, or is no bytes.
    pub(crate) fn check_len(&self, graph: &Graph, found: Option<usize>) -> Result<()> {
        if found.is_some() && found == self.byte_len() {
            return Ok(());
        }
        let found = match found {
            Some(found) => format!("{found} bytes"),
            None => graph.describe(self.content),
        };
        Err(Error::malformed(format!(
            "expected the bytes of a NumPy array of {} with the shape {:?}, found {found}",
            self.dtype, self.shape
        )))
    }

    /// The bytes of all elements in the order of the file, each number little-endian; `None` when
    /// the content is no bytes.
    pub(crate) fn bytes(&self, graph: &Graph) -> Option<Vec<u8>> {
        let mut bytes = graph.binary(self.content)?.into_owned();
        let size = self.number_size();
        if size > 1 {
            bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        Some(bytes)
    }

    /// How many bytes are turned round at a time; 1 where none are.
    pub(crate) fn number_size(&self) -> usize {
        if self.is_big_endian {
            self.dtype.component_size()
        } else {
            1
        }
    }
}

/// How the elements of an array follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    /// Row by row: C's order.
    Rows,
    /// Column by column: Fortran's order.
    Columns,
    /// Row by row of an array whose axes are then put into the order of this tuple.
    Permuted(NodeId),
}

/// The arguments that describe an array.
#[derive(Debug)]
struct Parts {
    shape: NodeId,
    dtype: NodeId,
    content: NodeId,
    order: Order,
}

impl Parts {
    /// The array that the call of a node rebuilds; `None` for another call.
    fn from_node(graph: &Graph, id: NodeId) -> Option<Self> {
        let ((module, name), args) = graph.reduce(id)?;
        if !is_untouched(graph, id) {
            return None;
        }
        let state = graph.object(id)?.state;
        match (module, name, args, state) {
            (
                "numpy.core.multiarray" | "numpy._core.multiarray",
                "_reconstruct",
                &[class, ..],
                Some(state),
            ) if is_array_class(graph, class) => Self::from_state(graph, state),
            (
                "numpy.core.numeric" | "numpy._core.numeric",
                "_frombuffer",
                &[content, dtype, shape, order, ref axes @ ..],
                None,
            ) => {
                let order = match (graph.text(order)?, axes) {
                    ("C", []) => Order::Rows,
                    ("F", []) => Order::Columns,
                    ("C" | "K", &[axes]) if graph.is_none(axes) => Order::Rows,
                    ("F", &[axes]) if graph.is_none(axes) => Order::Columns,
                    ("K", &[axes]) => Order::Permuted(axes),
                    _ => return None,
                };
                Some(Self {
                    shape,
                    dtype,
                    content,
                    order,
                })
            }
            _ => None,
        }
    }

    /// `(version, shape, dtype, is column by column, content)`; the first version states none.
    fn from_state(graph: &Graph, state: NodeId) -> Option<Self> {
        let state = graph.sequence(state)?;
        let (&[_, shape, dtype, columns, content] | &[shape, dtype, columns, content]) = state
        else {
            return None;
        };
        let is_by_columns = match graph.node(columns) {
            Node::Bool(value) => *value,
            Node::Int(value) => *value != 0,
            _ => return None,
        };
        Some(Self {
            shape,
            dtype,
            content,
            order: if is_by_columns {
                Order::Columns
            } else {
                Order::Rows
            },
        })
    }
}

/// Whether the class is NumPy's array, or one of NumPy's own that has the elements of its base.
fn is_array_class(graph: &Graph, class: NodeId) -> bool {
    matches!(
        graph.global(class),
        Some(
            ("numpy", "ndarray" | "memmap" | "matrix")
                | ("numpy.core.memmap" | "numpy._core.memmap", "memmap")
                | ("numpy.matrixlib.defmatrix", "matrix")
        )
    )
}

/// `Some` for a dtype without a subarray and without fields.
fn is_plain_dtype(graph: &Graph, dtype: NodeId) -> Option<()> {
    let state = graph.sequence(graph.object(dtype)?.state?)?;
    let rest = state.get(2..5)?;
    rest.iter().all(|&id| graph.is_none(id)).then_some(())
}

/// Strides of elements that are stored row by row, or column by column.
///
/// # Errors
/// When a product of sizes overflows.
pub(crate) fn strides(shape: &[usize], by_columns: bool) -> Result<Vec<usize>> {
    let mut strides = vec![0; shape.len()];
    let mut next: usize = 1;
    let mut set = |(stride, &size): (&mut usize, &usize)| -> Option<()> {
        *stride = next;
        next = next.checked_mul(size.max(1))?;
        Some(())
    };
    let mut pairs = strides.iter_mut().zip(shape);
    let outcome = if by_columns {
        pairs.try_for_each(&mut set)
    } else {
        pairs.rev().try_for_each(&mut set)
    };
    outcome
        .map(|()| strides)
        .ok_or_else(|| Error::malformed(format!("the sizes {shape:?} of a NumPy array overflow")))
}

/// Whether the object that the call made was given nothing but a first state.
fn is_untouched(graph: &Graph, id: NodeId) -> bool {
    graph.changes(id).is_empty()
        && graph
            .object(id)
            .is_some_and(|object| object.items.is_empty() && object.pairs.is_empty())
}
