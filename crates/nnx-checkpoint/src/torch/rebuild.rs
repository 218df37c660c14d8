//! From a rebuild call in the graph to a tensor.

use super::object::TorchObject;
use crate::error::{Error, Result};
use crate::pickle::{Call, Graph, Node, NodeId};
use crate::{Dtype, Tensor, TensorClass};

/// A tensor without its bytes: what the pickle says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorInfo {
    /// The node of the storage that the tensor views.
    pub storage: NodeId,
    /// The element type.
    pub dtype: Dtype,
    /// Elements before the first one of the view.
    pub offset: usize,
    /// Elements along each dimension.
    pub shape: Vec<usize>,
    /// Elements between neighbours along each dimension.
    pub strides: Vec<usize>,
    /// The Python class that the tensor was saved as.
    pub class: TensorClass,
    /// Whether autograd was to track the tensor.
    pub requires_grad: bool,
}

impl TorchObject {
    /// What the pickle says of a tensor; none when the node is no tensor.
    ///
    /// # Errors
    /// When the node is a rebuild call of PyTorch that this version does not follow, or one whose
    /// arguments do not fit it.
    pub fn tensor_info(&self, id: NodeId) -> Result<Option<TensorInfo>> {
        let graph = self.graph();
        self.rebuild(id).map_err(|error| match graph.offset(id) {
            Some(offset) => error.at(offset),
            None => error,
        })
    }

    /// The tensor; none when the node is no tensor.
    ///
    /// # Errors
    /// As for [`tensor_info`](Self::tensor_info), and when the tensor does not lie within its
    /// storage or the storage's bytes do not match their checksum.
    pub fn tensor(&self, id: NodeId) -> Result<Option<Tensor>> {
        let Some(info) = self.tensor_info(id)? else {
            return Ok(None);
        };
        let storage = self
            .storage(info.storage)?
            .ok_or_else(|| Error::malformed("a tensor's storage is no storage"))?;
        let tensor = Tensor::view(
            storage.clone(),
            info.dtype,
            info.offset,
            &info.shape,
            &info.strides,
        )?;
        Ok(Some(
            tensor
                .with_class(info.class)
                .with_requires_grad(info.requires_grad),
        ))
    }

    fn rebuild(&self, id: NodeId) -> Result<Option<TensorInfo>> {
        let graph = self.graph();
        let Some((name, args)) = rebuild_call(graph, id) else {
            return Ok(None);
        };
        match (name, args) {
            ("_rebuild_tensor_v2", &[storage, offset, size, stride, grad, _, ref rest @ ..])
                if rest.len() <= 1 =>
            {
                self.check_metadata(rest.first())?;
                let dtype = self.storage_dtype(storage)?;
                self.info(storage, dtype, [offset, size, stride], grad)
                    .map(Some)
            }
            (
                "_rebuild_tensor_v3",
                &[storage, offset, size, stride, grad, _, dtype, ref rest @ ..],
            ) if rest.len() <= 1 => {
                self.check_metadata(rest.first())?;
                let dtype = match graph.global(dtype) {
                    Some(("torch", name)) => Dtype::from_name(name).ok_or_else(|| {
                        Error::unsupported(format!("`torch.{name}` is no dtype known here"))
                    })?,
                    _ => {
                        return Err(Error::malformed(format!(
                            "a tensor's dtype must be a dtype of `torch`, got {}",
                            graph.describe(dtype)
                        )));
                    }
                };
                self.info(storage, dtype, [offset, size, stride], grad)
                    .map(Some)
            }
            ("_rebuild_parameter", &[data, grad, _]) => {
                // The data of a parameter is a plain tensor; a parameter of a parameter is no file
                // of PyTorch's, and following one without bound would be a trap.
                if rebuild_call(graph, data).is_some_and(|(name, _)| name == "_rebuild_parameter") {
                    return Err(Error::malformed("a parameter made of a parameter"));
                }
                let info = self.rebuild(data)?.ok_or_else(|| {
                    Error::malformed(format!(
                        "a parameter must be made of a tensor, got {}",
                        graph.describe(data)
                    ))
                })?;
                let requires_grad = boolean(graph, grad)?;
                Ok(Some(TensorInfo {
                    class: TensorClass::Parameter,
                    requires_grad,
                    ..info
                }))
            }
            ("_rebuild_tensor_v2" | "_rebuild_tensor_v3" | "_rebuild_parameter", args) => {
                Err(Error::malformed(format!(
                    "`torch._utils.{name}` does not take {} arguments",
                    args.len()
                )))
            }
            (name, _) => Err(Error::unsupported(format!(
                "tensors that `torch._utils.{name}` rebuilds are not read"
            ))),
        }
    }

    fn info(
        &self,
        storage: NodeId,
        dtype: Dtype,
        [offset, size, stride]: [NodeId; 3],
        grad: NodeId,
    ) -> Result<TensorInfo> {
        let graph = self.graph();
        Ok(TensorInfo {
            storage,
            dtype,
            offset: count(graph, offset)?,
            shape: counts(graph, size)?,
            strides: counts(graph, stride)?,
            class: TensorClass::Tensor,
            requires_grad: boolean(graph, grad)?,
        })
    }

    fn storage_dtype(&self, storage: NodeId) -> Result<Dtype> {
        let id = self.slot_of(storage).ok_or_else(|| {
            Error::malformed(format!(
                "a tensor's storage must be a persistent id of one, got {}",
                self.graph().describe(storage)
            ))
        })?;
        id.dtype.ok_or_else(|| {
            Error::malformed("a tensor over an untyped storage must state its dtype")
        })
    }

    /// The seventh (or eighth) argument holds lazy bits, such as `{'conj': True}`.
    fn check_metadata(&self, metadata: Option<&NodeId>) -> Result<()> {
        let Some(&metadata) = metadata else {
            return Ok(());
        };
        match self.graph().node(metadata) {
            Node::None => Ok(()),
            Node::Dict(pairs) if pairs.is_empty() => Ok(()),
            _ => Err(Error::unsupported(format!(
                "tensors with lazy bits ({}) are not read; save `tensor.resolve_conj()` or \
                 `tensor.resolve_neg()` instead",
                self.graph().describe(metadata)
            ))),
        }
    }
}

/// Function and arguments, if the node is a call of one of PyTorch's rebuild functions.
fn rebuild_call(graph: &Graph, id: NodeId) -> Option<(&str, &[NodeId])> {
    let Call::Reduce { callable, args } = graph.object(id)?.call else {
        return None;
    };
    match graph.global(callable)? {
        ("torch._utils", name) if name.starts_with("_rebuild_") => {
            Some((name, graph.sequence(args)?))
        }
        _ => None,
    }
}

fn count(graph: &Graph, id: NodeId) -> Result<usize> {
    graph
        .int(id)
        .and_then(|value| usize::try_from(value).ok())
        .ok_or_else(|| {
            Error::malformed(format!(
                "offsets, sizes and strides must be whole numbers from 0, got {}",
                graph.describe(id)
            ))
        })
}

fn counts(graph: &Graph, id: NodeId) -> Result<Vec<usize>> {
    graph
        .sequence(id)
        .ok_or_else(|| {
            Error::malformed(format!(
                "sizes and strides must be tuples, got {}",
                graph.describe(id)
            ))
        })?
        .iter()
        .map(|&id| count(graph, id))
        .collect()
}

fn boolean(graph: &Graph, id: NodeId) -> Result<bool> {
    match graph.node(id) {
        Node::Bool(value) => Ok(*value),
        _ => Err(Error::malformed(format!(
            "`requires_grad` must be a bool, got {}",
            graph.describe(id)
        ))),
    }
}
