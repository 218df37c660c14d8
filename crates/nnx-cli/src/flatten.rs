//! Nested values as a list of lines.

use nnx::params::{Value, python_text};

/// Every value with the path of the keys that lead to it. Mappings are expanded; other values are
/// shown as in Python. The depth is bounded, because the readers bound it.
pub(crate) fn fields(path: &str, value: &Value) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    push_fields(path, value, &mut fields);
    fields
}

fn push_fields(path: &str, value: &Value, fields: &mut Vec<(String, String)>) {
    match value {
        Value::Map(state) if !state.is_empty() => {
            for (key, value) in state.iter() {
                let path = match path {
                    "" => key.to_owned(),
                    path => format!("{path}.{key}"),
                };
                push_fields(&path, value, fields);
            }
        }
        value => fields.push((path.to_owned(), python_text::repr(value))),
    }
}
