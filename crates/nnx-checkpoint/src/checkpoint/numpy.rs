//! NumPy's scalars, as metrics of scikit-learn are: `numpy.float64(0.5)` is a number like another.

use std::borrow::Cow;

use nnx_params::Value;

use crate::Dtype;
use crate::cast::cast;
use crate::error::{Error, Result, shown};
use crate::numpy;
use crate::pickle::{Graph, NodeId};

/// The value of a scalar: `scalar(dtype, bytes)` of NumPy's module `multiarray`. None for an object
/// that is none.
///
/// # Errors
/// When its dtype is no bool, integer or float, or the bytes are not one of those.
pub(super) fn scalar(graph: &Graph, id: NodeId) -> Option<Result<Value>> {
    let (dtype, bytes) = numpy::scalar(graph, id)?;
    Some(value(graph, dtype, bytes))
}

fn value(graph: &Graph, dtype: NodeId, bytes: NodeId) -> Result<Value> {
    let (text, order) = numpy::dtype(graph, dtype).ok_or_else(|| {
        Error::malformed(format!(
            "the dtype of a NumPy scalar must be one of NumPy's, got {}",
            graph.describe(dtype)
        ))
    })?;
    let Some(dtype) = numpy::native(text).filter(|dtype| !dtype.is_complex()) else {
        return Err(Error::unsupported(format!(
            "a NumPy scalar in a configuration must be a bool, an integer or a float, got one of \
             dtype `{}`",
            shown(text)
        )));
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
