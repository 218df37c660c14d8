//! Recognising the calls that make tensors.

use crate::error::{Error, Result, shown};
use crate::pickle::{Call, Graph, NodeId, Object};

/// A call that makes a tensor.
#[derive(Clone, Copy, Debug)]
pub(super) struct RebuildCall<'a> {
    pub(super) function: Function,
    pub(super) module: &'a str,
    pub(super) name: &'a str,
    pub(super) args: &'a [NodeId],
    /// The state that is handed to `__setstate__` behind the call.
    pub(super) state: Option<NodeId>,
}

/// A function that PyTorch calls to make a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Function {
    /// `_rebuild_tensor(storage, offset, size, stride)`, of PyTorch before 0.4.
    Tensor,
    /// `_rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks[, metadata])`.
    TensorV2,
    /// `_rebuild_tensor_v3(…, hooks, dtype[, metadata])`.
    TensorV3,
    /// `_rebuild_qtensor(storage, offset, size, stride, quantizer, requires_grad, hooks)`.
    Quantized,
    /// `_rebuild_sparse_tensor(layout, data)`.
    Sparse,
    /// `_rebuild_nested_tensor(buffer, sizes, strides, offsets)`.
    Nested,
    /// `_rebuild_njt({'values': …, 'offsets': …, 'lengths': …, …})`, of the jagged layout.
    Jagged,
    /// `_rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad)`.
    Meta,
    /// `_rebuild_device_tensor_from_cpu_tensor(data, dtype, device, requires_grad)`.
    FromCpu,
    /// `_rebuild_wrapper_subclass(class, dtype, size, stride, offset, layout, device,
    /// requires_grad)`.
    Wrapper,
    /// `_rebuild_parameter(data, requires_grad, hooks)`.
    Parameter,
    /// `_rebuild_parameter_with_state(data, requires_grad, hooks, state)`.
    ParameterWithState,
    /// `_rebuild_from_type[_v2](function, type, args, state)`.
    FromType,
    /// A class itself, as PyTorch before 0.4 pickled its tensors.
    Constructor(Constructed),
}

/// A class that PyTorch before 0.4 pickled by its constructor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constructed {
    /// `torch.nn.Parameter`.
    Parameter,
    /// `torch.autograd.Variable`, which is a tensor since 0.4.
    Variable,
}

impl<'a> RebuildCall<'a> {
    /// The call that a node is, if it is one that makes a tensor.
    ///
    /// The inner result is an error when such a call cannot be followed.
    pub(super) fn from_node(graph: &'a Graph, id: NodeId) -> Option<Result<Self>> {
        let object = graph.object(id)?;
        let call = match object.call {
            Call::Reduce { callable, args } => Self::new(graph, callable, args)?,
            Call::New { class, args } => Self::new(graph, class, args)?,
            _ => return None,
        };
        Some(call.and_then(|mut call| {
            call.state = object.state;
            check_untouched(graph, id, object, call.function)?;
            Ok(call)
        }))
    }

    /// The call of that function with those arguments, if it is one that makes a tensor.
    pub(super) fn new(graph: &'a Graph, callable: NodeId, args: NodeId) -> Option<Result<Self>> {
        let (module, name) = graph.global(callable)?;
        let function = match function(module, name)? {
            Ok(function) => function,
            Err(error) => return Some(Err(error)),
        };
        let call = graph.sequence(args).map(|args| Self {
            function,
            module,
            name,
            args,
            state: None,
        });
        Some(call.ok_or_else(|| {
            Error::malformed(format!(
                "the arguments of `{module}.{name}` must be a tuple, got {}",
                graph.describe(args)
            ))
        }))
    }
}

/// The function of that name, if it makes tensors.
fn function(module: &str, name: &str) -> Option<Result<Function>> {
    let unsupported = |why: &str| {
        Some(Err(Error::unsupported(format!(
            "tensors that `{module}.{}` makes are not read: {why}",
            shown(name)
        ))))
    };
    let function = match (module, name) {
        ("torch._utils", "_rebuild_tensor") => Function::Tensor,
        ("torch._utils", "_rebuild_tensor_v2") => Function::TensorV2,
        ("torch._utils", "_rebuild_tensor_v3") => Function::TensorV3,
        ("torch._utils", "_rebuild_qtensor") => Function::Quantized,
        ("torch._utils", "_rebuild_sparse_tensor") => Function::Sparse,
        ("torch._utils", "_rebuild_nested_tensor") => Function::Nested,
        ("torch._utils", "_rebuild_meta_tensor_no_storage") => Function::Meta,
        ("torch._utils", "_rebuild_device_tensor_from_cpu_tensor") => Function::FromCpu,
        ("torch._utils", "_rebuild_wrapper_subclass") => Function::Wrapper,
        ("torch._utils", "_rebuild_parameter") => Function::Parameter,
        ("torch._utils", "_rebuild_parameter_with_state") => Function::ParameterWithState,
        ("torch.nested._internal.nested_tensor", "_rebuild_njt") => Function::Jagged,
        ("torch._utils", "_rebuild_device_tensor_from_numpy" | "_rebuild_xla_tensor") => {
            return unsupported("their elements are in a NumPy array");
        }
        ("torch._utils", name) if name.starts_with("_rebuild_") => {
            return unsupported("this version does not know the function");
        }
        // The module was called `torch.tensor` until PyTorch 1.9.
        ("torch._tensor" | "torch.tensor", "_rebuild_from_type" | "_rebuild_from_type_v2") => {
            Function::FromType
        }
        ("torch.nn.parameter", "Parameter") => Function::Constructor(Constructed::Parameter),
        ("torch.autograd.variable" | "torch.autograd", "Variable") => {
            Function::Constructor(Constructed::Variable)
        }
        ("torch.nn.parameter", "UninitializedParameter" | "UninitializedBuffer") => {
            return unsupported("they have neither a shape nor elements yet");
        }
        _ => return None,
    };
    Some(Ok(function))
}

/// Whether nothing happens to a tensor behind the call that makes it: changes of its elements by
/// `__setstate__` and `__setitem__` are not followed.
fn check_untouched(graph: &Graph, id: NodeId, object: &Object, function: Function) -> Result<()> {
    let takes_state = matches!(function, Function::Constructor(_));
    if object.items.is_empty()
        && object.pairs.is_empty()
        && (object.state.is_none() || takes_state)
        && graph.changes(id).is_empty()
    {
        return Ok(());
    }
    Err(Error::unsupported(
        "a tensor that the pickle changes after it was made is not read",
    ))
}
