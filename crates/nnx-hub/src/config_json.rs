//! `config.json` as Python's `json.dumps(config, sort_keys=True, indent=2)` writes it.

use nnx_params::{State, Value, python_text};

/// The text: keys sorted at every level, two spaces a level, ASCII, no line feed at the end.
///
/// ```
/// use nnx_hub::config_json;
/// use nnx_params::{State, Value};
///
/// let config = State::from_iter([("lr", Value::from(1e-7)), ("bias", Value::from(true))]);
/// assert_eq!(config_json(&config), "{\n  \"bias\": true,\n  \"lr\": 1e-07\n}");
/// ```
pub fn config_json(config: &State) -> String {
    let mut out = String::new();
    map(&mut out, config, 0, true);
    out
}

/// The same without sorting the keys, as `json.dumps(…, indent=2)` writes it.
pub(crate) fn ordered_json(state: &State) -> String {
    let mut out = String::new();
    map(&mut out, state, 0, false);
    out
}

fn value(out: &mut String, item: &Value, level: usize, sort: bool) {
    match item {
        Value::Map(state) => map(out, state, level, sort),
        Value::List(items) | Value::Tuple(items) if !items.is_empty() => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                line(out, index, level + 1);
                value(out, item, level + 1, sort);
            }
            close(out, ']', level);
        }
        leaf => out.push_str(&python_text::json_dumps(leaf)),
    }
}

fn map(out: &mut String, state: &State, level: usize, sort: bool) {
    if state.is_empty() {
        out.push_str("{}");
        return;
    }
    let mut entries: Vec<_> = state.iter().collect();
    if sort {
        entries.sort_by_key(|(key, _)| *key);
    }
    out.push('{');
    for (index, (key, item)) in entries.into_iter().enumerate() {
        line(out, index, level + 1);
        out.push_str(&python_text::json_dumps(&Value::from(key)));
        out.push_str(": ");
        value(out, item, level + 1, sort);
    }
    close(out, '}', level);
}

fn line(out: &mut String, index: usize, level: usize) {
    out.push_str(if index > 0 { ",\n" } else { "\n" });
    out.push_str(&"  ".repeat(level));
}

fn close(out: &mut String, bracket: char, level: usize) {
    out.push('\n');
    out.push_str(&"  ".repeat(level));
    out.push(bracket);
}

/// The Python value for a value of serde; integers and floats stay different.
pub(crate) fn from_serde(json: serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::None,
        serde_json::Value::Bool(flag) => Value::Bool(flag),
        serde_json::Value::Number(number) => match (number.as_i128(), number.as_f64()) {
            (Some(int), _) => Value::Int(int),
            (None, Some(float)) => Value::Float(float),
            (None, None) => Value::None,
        },
        serde_json::Value::String(text) => Value::Str(text),
        serde_json::Value::Array(items) => Value::List(items.into_iter().map(from_serde).collect()),
        serde_json::Value::Object(entries) => Value::Map(
            entries
                .into_iter()
                .map(|(key, item)| (key, from_serde(item)))
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that CPython 3.11 printed.
    #[track_caller]
    fn check(json: &str, expected: &str) {
        let value = python_text::json_loads(json).unwrap();
        let state = value.as_map().unwrap();
        assert_eq!(config_json(state), expected);
    }

    #[test]
    fn it_is_the_text_of_python() {
        check("{}", "{}");
        check(
            r#"{"b": [], "a": {}, "c": [1, [2.0]]}"#,
            "{\n  \"a\": {},\n  \"b\": [],\n  \"c\": [\n    1,\n    [\n      2.0\n    ]\n  ]\n}",
        );
        check(
            r#"{"é": "\u65e5", "z": null, "B": NaN, "a": 1e22}"#,
            "{\n  \"B\": NaN,\n  \"a\": 1e+22,\n  \"z\": null,\n  \"\\u00e9\": \"\\u65e5\"\n}",
        );
    }

    #[test]
    fn numbers_of_serde_keep_their_kind() {
        let json = serde_json::json!({"i": 1, "f": 1.0, "u": u64::MAX});
        let state = State::from_iter([
            ("f", Value::Float(1.0)),
            ("i", Value::Int(1)),
            ("u", Value::Int(i128::from(u64::MAX))),
        ]);
        let Value::Map(read) = from_serde(json) else {
            panic!("a mapping");
        };
        assert_eq!(config_json(&read), config_json(&state));
    }
}
