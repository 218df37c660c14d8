//! Subclasses of `torch.Tensor`, attributes, and tensors of other devices.

use super::args::{boolean, check_attributes, count, counts, dtype};
use super::call::RebuildCall;
use super::strided::check_rank;
use super::{Layout, TensorInfo, deeper, plain};
use crate::TensorClass;
use crate::error::{Error, Result};
use crate::pickle::{Node, NodeId};
use crate::torch::TorchObject;

/// Attributes of a tensor that Python code can set and that change what the tensor is.
const NOT_ATTRIBUTES: &[&str] = &["data", "imag", "names", "real", "requires_grad"];

impl TorchObject {
    /// `function(*args)` as that subclass, with those attributes.
    pub(super) fn rebuild_from_type(
        &self,
        args: &[NodeId],
        nesting: usize,
    ) -> Result<Option<TensorInfo>> {
        let &[function, class, args, state] = args else {
            return Ok(None);
        };
        let graph = self.graph();
        let nesting = deeper(nesting)?;
        let call = RebuildCall::new(graph, function, args).ok_or_else(|| {
            Error::unsupported(format!(
                "tensors that {} makes are not read",
                graph.describe(function)
            ))
        })??;
        let info = self.rebuild(&call, nesting)?;
        let class = match graph.global(class) {
            Some(("torch" | "torch._tensor", "Tensor")) => info.class,
            Some(("torch.nn.parameter", "Parameter")) => TensorClass::Parameter,
            Some(_) => TensorClass::Subclass,
            None => {
                return Err(Error::malformed(format!(
                    "the class of a tensor must be a class, got {}",
                    graph.describe(class)
                )));
            }
        };
        let info = TensorInfo { class, ..info };
        if class == TensorClass::Subclass {
            // A subclass may do anything with its state.
            return Ok(Some(TensorInfo {
                attributes: Some(state),
                ..info
            }));
        }
        self.with_attributes(info, state).map(Some)
    }

    /// Sets attributes: a dict, or a tuple of one and of the values of slots.
    pub(super) fn with_attributes(&self, info: TensorInfo, state: NodeId) -> Result<TensorInfo> {
        let graph = self.graph();
        let unfit = |id| {
            Error::malformed(format!(
                "the attributes of a tensor must be a dict, got {}",
                graph.describe(id)
            ))
        };
        let parts = match graph.node(state) {
            Node::Tuple(parts) if parts.len() == 2 => parts,
            Node::Tuple(_) => return Err(unfit(state)),
            _ => &[state][..],
        };
        let mut any = false;
        for &part in parts {
            let pairs = match graph.node(part) {
                Node::None => continue,
                Node::Dict(pairs) => pairs,
                _ => return Err(unfit(part)),
            };
            check_attributes(pairs.len())?;
            any |= !pairs.is_empty();
            for &(key, _) in pairs {
                if let Some(name) = graph.text(key)
                    && NOT_ATTRIBUTES.contains(&name)
                {
                    return Err(Error::unsupported(format!(
                        "a tensor whose `{name}` the pickle sets after it was made is not read"
                    )));
                }
            }
        }
        Ok(TensorInfo {
            attributes: any.then_some(state).or(info.attributes),
            ..info
        })
    }

    pub(super) fn rebuild_wrapper(&self, args: &[NodeId]) -> Result<Option<TensorInfo>> {
        let &[class, of, size, stride, offset, _, _, grad] = args else {
            return Ok(None);
        };
        let graph = self.graph();
        let (shape, strides) = (counts(graph, size)?, counts(graph, stride)?);
        check_rank(&shape, &strides)?;
        let layout = Layout::Wrapper {
            class,
            offset: count(graph, offset)?,
            strides,
        };
        let info = plain(dtype(graph, of)?, shape, false, layout);
        let info = self.with_grad(info, grad)?;
        Ok(Some(TensorInfo {
            class: TensorClass::Subclass,
            ..info
        }))
    }

    /// `data.to(dtype, device)`: the elements are those of the tensor, unless the dtype changes.
    pub(super) fn rebuild_from_cpu(
        &self,
        args: &[NodeId],
        nesting: usize,
    ) -> Result<Option<TensorInfo>> {
        let &[data, of, _, grad] = args else {
            return Ok(None);
        };
        let info = self.argument(data, "the data of a tensor of another device", nesting)?;
        let wanted = dtype(self.graph(), of)?;
        if wanted != info.dtype {
            return Err(Error::unsupported(format!(
                "a {wanted} tensor saved as {} is not read: its elements would have to be computed",
                info.dtype
            )));
        }
        let requires_grad = boolean(self.graph(), grad, "requires_grad")?;
        Ok(Some(TensorInfo {
            requires_grad,
            ..info
        }))
    }
}
