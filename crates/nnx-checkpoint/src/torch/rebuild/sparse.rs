//! Tensors that are made of others: sparse and nested ones.

use super::args::{boolean, count, counts};
use super::{Layout, SparseKind, TensorInfo, plain};
use crate::error::{Error, Result, shown};
use crate::pickle::NodeId;
use crate::torch::TorchObject;

impl TorchObject {
    pub(super) fn rebuild_sparse(
        &self,
        args: &[NodeId],
        nesting: usize,
    ) -> Result<Option<TensorInfo>> {
        let &[layout, data] = args else {
            return Ok(None);
        };
        let graph = self.graph();
        let kind = self.sparse_kind(layout)?;
        let unfit = || {
            Error::malformed(format!(
                "the parts of a `{}` tensor must be a tuple of them, got {}",
                kind.name(),
                graph.describe(data)
            ))
        };
        let data = graph.sequence(data).ok_or_else(unfit)?;
        let (parts, size, coalesced) = match (kind, data) {
            (SparseKind::Coo, &[indices, values, size]) => {
                (vec![("indices", indices), ("values", values)], size, None)
            }
            (SparseKind::Coo, &[indices, values, size, coalesced]) => {
                let parts = vec![("indices", indices), ("values", values)];
                let coalesced = if graph.is_none(coalesced) {
                    None
                } else {
                    Some(boolean(graph, coalesced, "is_coalesced")?)
                };
                (parts, size, coalesced)
            }
            (SparseKind::Coo, _) => return Err(unfit()),
            (_, &[compressed, plain, values, size]) => {
                let [compressed_name, plain_name] = match kind {
                    SparseKind::Csr | SparseKind::Bsr => ["crow_indices", "col_indices"],
                    _ => ["ccol_indices", "row_indices"],
                };
                let parts = vec![
                    (compressed_name, compressed),
                    (plain_name, plain),
                    ("values", values),
                ];
                (parts, size, None)
            }
            _ => return Err(unfit()),
        };
        let dtype = self.dtype_of_values(&parts, nesting)?;
        let layout = Layout::Sparse {
            kind,
            parts,
            coalesced,
        };
        Ok(Some(plain(dtype, counts(graph, size)?, false, layout)))
    }

    pub(super) fn rebuild_nested(
        &self,
        args: &[NodeId],
        nesting: usize,
    ) -> Result<Option<TensorInfo>> {
        let &[values, sizes, strides, offsets] = args else {
            return Ok(None);
        };
        let parts = vec![
            ("values", values),
            ("sizes", sizes),
            ("strides", strides),
            ("offsets", offsets),
        ];
        let dtype = self.dtype_of_values(&parts, nesting)?;
        // One row of sizes for each part.
        let count = self.argument(sizes, "`sizes`", nesting)?.shape;
        let shape = count.first().map(|&count| vec![count]).unwrap_or_default();
        let layout = Layout::Nested {
            parts,
            ragged_dim: None,
        };
        Ok(Some(plain(dtype, shape, false, layout)))
    }

    /// The jagged layout, which is made by keyword arguments.
    pub(super) fn rebuild_jagged(
        &self,
        args: &[NodeId],
        nesting: usize,
    ) -> Result<Option<TensorInfo>> {
        let &[arguments] = args else {
            return Ok(None);
        };
        let graph = self.graph();
        let argument = |name: &str| {
            graph.get(arguments, name).ok_or_else(|| {
                Error::malformed(format!(
                    "the arguments of a jagged tensor must be a dict with `{name}`, got {}",
                    graph.describe(arguments)
                ))
            })
        };
        let offsets = argument("offsets")?;
        let mut parts = vec![("values", argument("values")?), ("offsets", offsets)];
        let lengths = graph.get(arguments, "lengths");
        parts.extend(
            lengths
                .filter(|&lengths| !graph.is_none(lengths))
                .map(|lengths| ("lengths", lengths)),
        );
        let dtype = self.dtype_of_values(&parts, nesting)?;
        // An offset before each tensor, and one behind the last.
        let bounds = self.argument(offsets, "`offsets`", nesting)?.shape;
        let tensors = bounds.first().map_or(0, |&count| count.saturating_sub(1));
        let ragged_dim = graph.get(arguments, "_ragged_idx");
        let layout = Layout::Nested {
            parts,
            ragged_dim: ragged_dim.map(|dim| count(graph, dim)).transpose()?,
        };
        let grad = argument("requires_grad")?;
        let grad = boolean(graph, grad, "requires_grad")?;
        Ok(Some(plain(dtype, vec![tensors], grad, layout)))
    }

    /// Checks that every part is a tensor, and gives the dtype of the values.
    fn dtype_of_values(
        &self,
        parts: &[(&'static str, NodeId)],
        nesting: usize,
    ) -> Result<crate::Dtype> {
        let mut dtype = None;
        for &(name, part) in parts {
            let info = self.argument(part, &format!("`{name}`"), nesting)?;
            if name == "values" {
                dtype = Some(info.dtype);
            }
        }
        dtype.ok_or_else(|| Error::malformed("a tensor made of parts has no values"))
    }

    /// `torch.serialization._get_layout('torch.sparse_coo')`.
    fn sparse_kind(&self, layout: NodeId) -> Result<SparseKind> {
        let graph = self.graph();
        let name = match graph.reduce(layout) {
            Some((("torch.serialization", "_get_layout"), &[name])) => graph.text(name),
            _ => None,
        };
        name.and_then(|name| SparseKind::from_name(name.strip_prefix("torch.")?))
            .ok_or_else(|| {
                Error::unsupported(format!(
                    "a sparse tensor whose layout is {} is not read",
                    name.map_or_else(
                        || graph.describe(layout),
                        |name| format!("`{}`", shown(name))
                    )
                ))
            })
    }
}
