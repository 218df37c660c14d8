//! From a rebuild call in the graph to a tensor.
//!
//! The functions and their use of the arguments are those of PyTorch's modules `torch._utils`,
//! `torch._tensor` and `torch.nn.parameter`.

use super::object::TorchObject;
use crate::error::{Error, Result};
use crate::pickle::{Graph, NodeId};
use crate::{Dtype, Tensor, TensorClass};

pub(super) mod args;
mod call;
mod info;
mod parameter;
mod quantized;
mod sparse;
mod strided;
mod subclass;

#[cfg(test)]
mod tests;

pub use info::{Layout, QuantizerInfo, SparseKind, TensorInfo};

use call::{Function, RebuildCall};

/// How deep one rebuild call may hold another: a subclass of a parameter of a tensor takes three.
const MAX_NESTING: usize = 8;

impl TorchObject {
    /// The pickle's description of a tensor; none when the node is no tensor. No byte of a storage is
    /// touched.
    ///
    /// # Errors
    /// When the node is a rebuild call of PyTorch that this version does not follow, or one whose
    /// arguments do not fit it.
    pub fn tensor_info(&self, id: NodeId) -> Result<Option<TensorInfo>> {
        self.info_within(id, MAX_NESTING)
            .map_err(|error| self.locate(error))
    }

    /// The tensor; none when the node is no tensor.
    ///
    /// # Errors
    /// As for [`tensor_info`](Self::tensor_info); when the tensor is not within its storage or
    /// the storage's bytes do not match their checksum; and when its elements are not laid out by
    /// strides, which the message then tells ([`Layout`]).
    pub fn tensor(&self, id: NodeId) -> Result<Option<Tensor>> {
        let tensor = self.unread_tensor(id)?;
        if let Some(tensor) = &tensor {
            let read = tensor.storage().bytes();
            read.map_err(|error| self.locate(self.at_node(error, id)))?;
        }
        Ok(tensor)
    }

    /// [`tensor`](Self::tensor), whose bytes are read when they are asked for.
    ///
    /// # Errors
    /// As for [`tensor`](Self::tensor), except for errors in the storage's bytes.
    pub fn unread_tensor(&self, id: NodeId) -> Result<Option<Tensor>> {
        let info = self.tensor_info(id)?;
        info.map(|info| self.tensor_of(&info, id)).transpose()
    }

    /// The tensor of a node; `info` is its description in the pickle.
    ///
    /// # Errors
    /// As for [`unread_tensor`](Self::unread_tensor).
    pub(crate) fn tensor_of(&self, info: &TensorInfo, id: NodeId) -> Result<Tensor> {
        self.materialize(info)
            .map_err(|error| self.locate(self.at_node(error, id)))
    }

    fn materialize(&self, info: &TensorInfo) -> Result<Tensor> {
        let tensor = match &info.layout {
            Layout::Strided {
                storage,
                offset,
                strides,
                conj,
                neg,
            } => self
                .view(*storage, info, *offset, strides)?
                .with_lazy_bits(*conj, *neg)?,
            Layout::Quantized {
                storage,
                offset,
                strides,
                quantizer,
            } => {
                let quantizer = self.quantizer(quantizer)?;
                self.view(*storage, info, *offset, strides)?
                    .with_quantizer(quantizer)?
            }
            Layout::Meta { .. } => {
                return Err(Error::unsupported(
                    "the tensor was saved from the device `meta`: it has no elements",
                ));
            }
            Layout::Wrapper { .. } => {
                return Err(Error::unsupported(
                    "the tensor is of a Python class that keeps its elements in attributes of its \
                     own",
                ));
            }
            Layout::Sparse { .. } | Layout::Nested { .. } => {
                return Err(Error::unsupported(format!(
                    "the tensor has the layout `{}`; only its parts have elements of their own",
                    info.layout.name()
                )));
            }
        };
        Ok(tensor
            .with_class(info.class)
            .with_requires_grad(info.requires_grad))
    }

    /// [`tensor_info`](Self::tensor_info) with that many calls to go.
    fn info_within(&self, id: NodeId, nesting: usize) -> Result<Option<TensorInfo>> {
        let Some(call) = RebuildCall::from_node(self.graph(), id) else {
            return Ok(None);
        };
        call.and_then(|call| self.rebuild(&call, nesting))
            .map(Some)
            .map_err(|error| self.at_node(error, id))
    }

    /// The tensor that an argument must be.
    fn argument(&self, id: NodeId, what: &str, nesting: usize) -> Result<TensorInfo> {
        let nesting = deeper(nesting)?;
        self.info_within(id, nesting)?.ok_or_else(|| {
            Error::malformed(format!(
                "{what} must be a tensor, got {}",
                self.graph().describe(id)
            ))
        })
    }

    fn rebuild(&self, call: &RebuildCall<'_>, nesting: usize) -> Result<TensorInfo> {
        let args = call.args;
        let info = match call.function {
            Function::Tensor => self.rebuild_tensor(args),
            Function::TensorV2 => self.rebuild_tensor_v2(args),
            Function::TensorV3 => self.rebuild_tensor_v3(args),
            Function::Quantized => self.rebuild_quantized(args),
            Function::Sparse => self.rebuild_sparse(args, nesting),
            Function::Nested => self.rebuild_nested(args, nesting),
            Function::Jagged => self.rebuild_jagged(args, nesting),
            Function::Meta => self.rebuild_meta(args),
            Function::FromCpu => self.rebuild_from_cpu(args, nesting),
            Function::Wrapper => self.rebuild_wrapper(args),
            Function::Parameter => self.rebuild_parameter(args, nesting),
            Function::ParameterWithState => self.rebuild_parameter_with_state(args, nesting),
            Function::FromType => self.rebuild_from_type(args, nesting),
            Function::Constructor(class) => self.construct(class, args, call.state, nesting),
        }?;
        info.ok_or_else(|| {
            Error::malformed(format!(
                "`{}.{}` does not take {} arguments",
                call.module,
                call.name,
                args.len()
            ))
        })
    }

    /// An error at the offset of a node, unless it has one.
    fn at_node(&self, error: Error, id: NodeId) -> Error {
        match self.graph().offset(id) {
            Some(offset) => error.at(offset),
            None => error,
        }
    }
}

/// One call less to go.
fn deeper(nesting: usize) -> Result<usize> {
    nesting.checked_sub(1).ok_or_else(|| {
        Error::malformed(format!(
            "a tensor is made of more than {MAX_NESTING} others, one in the other"
        ))
    })
}

/// The references through `UntypedStorage` that tensors of the graph use, each with the dtype of
/// the tensor.
pub(super) fn untyped_uses(graph: &Graph) -> impl Iterator<Item = (NodeId, Dtype)> + '_ {
    graph.ids().filter_map(|id| {
        let mut call = RebuildCall::from_node(graph, id)?.ok()?;
        for _ in 0..MAX_NESTING {
            match (call.function, call.args) {
                (Function::TensorV3, &[storage, _, _, _, _, _, dtype, ..]) => {
                    return args::dtype(graph, dtype).ok().map(|dtype| (storage, dtype));
                }
                // The function that `_rebuild_from_type` calls has no node of its own.
                (Function::FromType, &[function, _, args, _]) => {
                    call = RebuildCall::new(graph, function, args)?.ok()?;
                }
                _ => return None,
            }
        }
        None
    })
}

/// A tensor of the class `torch.Tensor`.
fn plain(dtype: Dtype, shape: Vec<usize>, requires_grad: bool, layout: Layout) -> TensorInfo {
    TensorInfo {
        dtype,
        shape,
        class: TensorClass::Tensor,
        requires_grad,
        attributes: None,
        layout,
    }
}
