//! NumPy's scalars, as metrics of scikit-learn are: `numpy.float64(0.5)` is a number like another.

use std::borrow::Cow;

use nnx_params::Value;

use crate::Dtype;
use crate::cast::cast;
use crate::error::{Error, Result, shown};
use crate::pickle::{Call, Graph, NodeId};

/// The value of a scalar: `scalar(dtype, bytes)` of NumPy's module `multiarray`. None for an object
/// that is none.
///
/// # Errors
/// When its dtype is no bool, integer or float, or the bytes are not one of those.
pub(super) fn scalar(graph: &Graph, id: NodeId) -> Option<Result<Value>> {
    let (callable, args) = reduced(graph, id)?;
    match (callable, args) {
        (("numpy._core.multiarray" | "numpy.core.multiarray", "scalar"), &[dtype, bytes])
            if is_untouched(graph, id) =>
        {
            Some(value(graph, dtype, bytes))
        }
        _ => None,
    }
}

fn value(graph: &Graph, dtype: NodeId, bytes: NodeId) -> Result<Value> {
    let (text, order) = dtype_of(graph, dtype)?;
    let dtype = match text {
        "b1" => Dtype::Bool,
        "i1" => Dtype::Int8,
        "i2" => Dtype::Int16,
        "i4" => Dtype::Int32,
        "i8" => Dtype::Int64,
        "u1" => Dtype::UInt8,
        "u2" => Dtype::UInt16,
        "u4" => Dtype::UInt32,
        "u8" => Dtype::UInt64,
        "f2" => Dtype::Float16,
        "f4" => Dtype::Float32,
        "f8" => Dtype::Float64,
        _ => {
            return Err(Error::unsupported(format!(
                "a NumPy scalar in a configuration must be a bool, an integer or a float, got one \
                 of dtype `{}`",
                shown(text)
            )));
        }
    };
    let held = graph.binary(bytes);
    let Some(mut held) = held.filter(|held| held.len() == dtype.size()) else {
        return Err(Error::malformed(format!(
            "a NumPy scalar of dtype `{text}` must have {} bytes, got {}",
            dtype.size(),
            graph.describe(bytes)
        )));
    };
    if order == ">" {
        held = Cow::Owned(held.iter().rev().copied().collect());
    }
    let number = |to: Dtype| -> Result<[u8; 8]> {
        let wide = cast(&held, dtype, to)?;
        wide.try_into()
            .map_err(|_| Error::malformed("a number of more than eight bytes"))
    };
    Ok(match dtype {
        Dtype::Bool => Value::Bool(held.iter().any(|&byte| byte != 0)),
        Dtype::Float16 | Dtype::Float32 | Dtype::Float64 => {
            Value::Float(f64::from_le_bytes(number(Dtype::Float64)?))
        }
        Dtype::UInt64 => Value::Int(u64::from_le_bytes(number(Dtype::UInt64)?).into()),
        _ => Value::Int(i64::from_le_bytes(number(Dtype::Int64)?).into()),
    })
}

/// The text of a dtype and its byte order: `numpy.dtype('f8', False, True)` with the state
/// `(3, '<', …)`.
fn dtype_of(graph: &Graph, id: NodeId) -> Result<(&str, &str)> {
    let found = || {
        let (("numpy", "dtype"), &[text, ..]) = reduced(graph, id)? else {
            return None;
        };
        let state = graph.sequence(graph.object(id)?.state?)?;
        let order = graph.text(*state.get(1)?)?;
        let is_known = matches!(order, "<" | ">" | "|");
        is_known.then_some((graph.text(text)?, order))
    };
    found().ok_or_else(|| {
        Error::malformed(format!(
            "the dtype of a NumPy scalar must be one of NumPy's, got {}",
            graph.describe(id)
        ))
    })
}

/// Function and arguments of a call.
fn reduced(graph: &Graph, id: NodeId) -> Option<((&str, &str), &[NodeId])> {
    match graph.object(id)?.call {
        Call::Reduce { callable, args } => Some((graph.global(callable)?, graph.sequence(args)?)),
        _ => None,
    }
}

/// Whether nothing was done to what the call made.
fn is_untouched(graph: &Graph, id: NodeId) -> bool {
    graph.object(id).is_some_and(|object| {
        object.items.is_empty() && object.pairs.is_empty() && object.state.is_none()
    })
}
