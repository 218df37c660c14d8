//! Parameters, and the objects that PyTorch before 0.4 pickled by constructor.

use super::args::no_hooks;
use super::call::Constructed;
use super::{TensorInfo, deeper};
use crate::TensorClass;
use crate::error::{Error, Result};
use crate::pickle::NodeId;
use crate::torch::TorchObject;

impl TorchObject {
    pub(super) fn rebuild_parameter(
        &self,
        args: &[NodeId],
        nesting: usize,
    ) -> Result<Option<TensorInfo>> {
        match *args {
            [data, grad, hooks] => self.parameter(data, grad, hooks, nesting).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn rebuild_parameter_with_state(
        &self,
        args: &[NodeId],
        nesting: usize,
    ) -> Result<Option<TensorInfo>> {
        let &[data, grad, hooks, state] = args else {
            return Ok(None);
        };
        let info = self.parameter(data, grad, hooks, nesting)?;
        self.with_attributes(info, state).map(Some)
    }

    /// `torch.nn.Parameter(data, requires_grad)`; of a subclass it keeps the class.
    fn parameter(
        &self,
        data: NodeId,
        grad: NodeId,
        hooks: NodeId,
        nesting: usize,
    ) -> Result<TensorInfo> {
        no_hooks(self.graph(), hooks)?;
        let info = self.argument(data, "the data of a parameter", nesting)?;
        let class = match info.class {
            TensorClass::Subclass => TensorClass::Subclass,
            _ => TensorClass::Parameter,
        };
        self.with_grad(TensorInfo { class, ..info }, grad)
    }

    /// `Parameter(data[, requires_grad])` or `Variable(data[, requires_grad])`, and then the state:
    /// `(requires_grad, volatile, hooks)` or `(data, grad, hooks, requires_grad, volatile)`, as
    /// `torch.Tensor.__setstate__` takes it.
    pub(super) fn construct(
        &self,
        class: Constructed,
        args: &[NodeId],
        state: Option<NodeId>,
        nesting: usize,
    ) -> Result<Option<TensorInfo>> {
        let nesting = deeper(nesting)?;
        let graph = self.graph();
        let wrong_state = |id| {
            Error::unsupported(format!(
                "the state of a parameter must be a tuple of 3 or 5 members, got {}",
                graph.describe(id)
            ))
        };
        let (mut data, mut grad) = match *args {
            [] => (None, None),
            [data] => (Some(data), None),
            [data, grad] => (Some(data), Some(grad)),
            _ => return Ok(None),
        };
        if let Some(id) = state {
            match *graph.sequence(id).ok_or_else(|| wrong_state(id))? {
                [requires_grad, _, hooks] => {
                    no_hooks(graph, hooks)?;
                    grad = Some(requires_grad);
                }
                [replaced, _, hooks, requires_grad, _] => {
                    no_hooks(graph, hooks)?;
                    data = Some(replaced);
                    grad = Some(requires_grad);
                }
                _ => return Err(wrong_state(id)),
            }
        }
        let Some(data) = data else {
            return Ok(None);
        };
        let info = self.argument(data, "the data of a parameter", nesting)?;
        let (class, default_grad) = match class {
            Constructed::Parameter => (TensorClass::Parameter, true),
            Constructed::Variable => (TensorClass::Tensor, false),
        };
        let info = TensorInfo {
            class,
            requires_grad: default_grad,
            ..info
        };
        match grad {
            Some(grad) => self.with_grad(info, grad).map(Some),
            None => Ok(Some(info)),
        }
    }
}
