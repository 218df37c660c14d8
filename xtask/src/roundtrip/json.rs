//! Reads the JSON that Python wrote; errors name the missing keys.

use nnx_params::{Value, python_text};

use crate::Result;

/// The value of a key.
///
/// # Errors
/// When `value` is not an object or lacks the key.
pub(super) fn field<'a>(value: &'a Value, key: &str) -> Result<&'a Value> {
    optional(value, key).ok_or_else(|| format!("expected the key `{key}`").into())
}

/// The value of a key, if there is one.
pub(super) fn optional<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Map(state) => state.get(key),
        _ => None,
    }
}

pub(super) fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    match field(value, key)? {
        Value::Str(text) => Ok(text),
        other => Err(wrong(key, "a string", other)),
    }
}

pub(super) fn list<'a>(value: &'a Value, key: &str) -> Result<&'a [Value]> {
    match field(value, key)? {
        Value::List(items) => Ok(items),
        other => Err(wrong(key, "a list", other)),
    }
}

pub(super) fn boolean(value: &Value, key: &str) -> Result<bool> {
    match field(value, key)? {
        Value::Bool(flag) => Ok(*flag),
        other => Err(wrong(key, "a boolean", other)),
    }
}

pub(super) fn size(value: &Value, key: &str) -> Result<usize> {
    as_size(field(value, key)?).ok_or_else(|| wrong(key, "a size", value))
}

pub(super) fn sizes(value: &Value, key: &str) -> Result<Vec<usize>> {
    let sizes = list(value, key)?.iter().map(as_size).collect();
    Option::ok_or_else(sizes, || wrong(key, "sizes", value))
}

pub(super) fn numbers(value: &Value, key: &str) -> Result<Vec<f64>> {
    let numbers = list(value, key)?.iter().map(as_number).collect();
    Option::ok_or_else(numbers, || wrong(key, "numbers", value))
}

/// The value with real floats in place of the objects for floats that strict JSON lacks, `{"float":
/// "nan"}`.
pub(super) fn with_nonfinite(value: &Value) -> Value {
    match value {
        Value::Map(state) => match (state.len(), state.get("float")) {
            (1, Some(Value::Str(text))) => text.parse().map_or(Value::None, Value::Float),
            _ => Value::Map(
                state
                    .iter()
                    .map(|(key, value)| (key, with_nonfinite(value)))
                    .collect(),
            ),
        },
        Value::List(items) => Value::List(items.iter().map(with_nonfinite).collect()),
        other => other.clone(),
    }
}

/// The value without some keys, at any depth.
pub(super) fn without_keys(value: &Value, keys: &[&str]) -> Value {
    match value {
        Value::Map(state) => Value::Map(
            state
                .iter()
                .filter(|(key, _)| !keys.contains(key))
                .map(|(key, value)| (key, without_keys(value, keys)))
                .collect(),
        ),
        other => other.clone(),
    }
}

fn as_size(value: &Value) -> Option<usize> {
    match value {
        Value::Int(number) => usize::try_from(*number).ok(),
        _ => None,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "Python writes whole floats with a point, so these are small"
)]
fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

fn wrong(key: &str, expected: &str, found: &Value) -> Box<dyn std::error::Error> {
    let found = python_text::json_dumps(found);
    format!("`{key}`: expected {expected}, found {found}").into()
}
