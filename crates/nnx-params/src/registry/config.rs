//! The options that a reference to registered code carries: JSON-like, with sorted keys.

use crate::error::{Error, Result};
use crate::value::{State, Value};

/// Copies the options of a reference, keys sorted and tuples as lists.
///
/// # Errors
///
/// `value` is neither `None` nor a mapping, or holds a float that is not finite.
pub(super) fn freeze(class: &'static str, field: &str, value: &Value) -> Result<State> {
    match value {
        Value::None => Ok(State::new()),
        Value::Map(state) => freeze_state(class, field, state),
        _ => Err(Error::wrong_type(class, field, "a mapping", value)),
    }
}

fn freeze_state(class: &'static str, path: &str, state: &State) -> Result<State> {
    let mut entries = Vec::with_capacity(state.len());
    for (key, value) in state {
        let frozen = freeze_value(class, &format!("{path}['{key}']"), value)?;
        entries.push((key.clone(), frozen));
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(entries.into_iter().collect())
}

fn freeze_value(class: &'static str, path: &str, value: &Value) -> Result<Value> {
    match value {
        Value::Float(float) if !float.is_finite() => {
            Err(Error::invalid(class, path, "a finite number", value))
        }
        Value::List(items) | Value::Tuple(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| freeze_value(class, &format!("{path}[{index}]"), item))
            .collect::<Result<_>>()
            .map(Value::List),
        Value::Map(state) => freeze_state(class, path, state).map(Value::Map),
        other => Ok(other.clone()),
    }
}
