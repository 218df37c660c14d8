//! Python's `json.dumps`.

use std::fmt::Write as _;

use crate::repr::float::float_repr;
use crate::repr::{write_dict, write_items};
use crate::value::Value;

/// Formats a value as Python's `json.dumps` does by default.
///
/// The text is ASCII, keys keep their order, tuples become lists, and the floats that JSON does
/// not know are written as `NaN`, `Infinity` and `-Infinity`, as they are in real files.
///
/// ```
/// use nnx_params::Value;
/// use nnx_params::python_text::json_dumps;
///
/// assert_eq!(json_dumps(&Value::from(vec![1e-5, f64::NAN])), "[1e-05, NaN]");
/// assert_eq!(json_dumps(&Value::from("é😀")), r#""\u00e9\ud83d\ude00""#);
/// ```
pub fn json_dumps(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::None => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Int(int) => {
            // Writing to a `String` cannot fail; the trait only allows for writers that can.
            let _ = write!(out, "{int}");
        }
        Value::Float(float) if float.is_nan() => out.push_str("NaN"),
        Value::Float(float) if float.is_infinite() => {
            out.push_str(if *float > 0.0 {
                "Infinity"
            } else {
                "-Infinity"
            });
        }
        Value::Float(float) => out.push_str(&float_repr(*float)),
        Value::Str(text) => write_text(out, text),
        Value::List(items) | Value::Tuple(items) => {
            out.push('[');
            write_items(out, items, write_value);
            out.push(']');
        }
        Value::Map(state) => write_dict(out, state, write_text, write_value),
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}
