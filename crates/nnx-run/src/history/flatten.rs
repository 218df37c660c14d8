//! Nested states as flat rows, in the order of pandas' `json_normalize`.

use nnx_params::{State, Value};

/// The cells of a record: first the values that are not mappings, in order, then the leaves of each
/// mapping under dotted names.
pub(super) fn flatten(state: &State) -> Vec<(String, &Value)> {
    let mut cells = Vec::new();
    let (nested, plain): (Vec<_>, Vec<_>) = state
        .iter()
        .partition(|(_, value)| matches!(value, Value::Map(_)));
    for (name, value) in plain {
        cells.push((name.to_owned(), value));
    }
    for (name, value) in nested {
        if let Value::Map(state) = value {
            leaves(state, name, &mut cells);
        }
    }
    cells
}

/// The leaves of a mapping below the first level, in order.
fn leaves<'a>(state: &'a State, prefix: &str, cells: &mut Vec<(String, &'a Value)>) {
    for (name, value) in state.iter() {
        let name = format!("{prefix}.{name}");
        match value {
            Value::Map(state) => leaves(state, &name, cells),
            value => cells.push((name, value)),
        }
    }
}
