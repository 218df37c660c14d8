//! Python's `repr`, and its other formats of floats.

pub(crate) mod float;

use std::fmt::Write as _;

use unicode_general_category::{GeneralCategory, get_general_category};

use self::float::float_repr;
use crate::value::{State, Value};

/// Formats a value as Python's `repr`, which is also its `str` unless it is a text.
///
/// The run id is the md5 of this text of a state.
///
/// ```
/// use nnx_params::python_text::repr;
/// use nnx_params::{State, Value};
///
/// let state = State::from_iter([("salt", Value::from("it's")), ("seed", Value::from(0))]);
/// assert_eq!(repr(&Value::from(state)), r#"{'salt': "it's", 'seed': 0}"#);
/// ```
pub fn repr(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::None => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(int) => write_infallible(out, format_args!("{int}")),
        Value::Float(float) => out.push_str(&float_repr(*float)),
        Value::Str(text) => write_text(out, text),
        Value::List(items) => {
            out.push('[');
            write_items(out, items, write_value);
            out.push(']');
        }
        Value::Tuple(items) => {
            out.push('(');
            write_items(out, items, write_value);
            if items.len() == 1 {
                out.push(',');
            }
            out.push(')');
        }
        Value::Map(state) => write_dict(out, state, write_text, write_value),
    }
}

/// Writes the items of a sequence, separated as `repr` and `json.dumps` do it.
pub(crate) fn write_items<T>(
    out: &mut String,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(out, item);
    }
}

/// Writes a mapping in braces, as `repr` and `json.dumps` do it.
pub(crate) fn write_dict(
    out: &mut String,
    state: &State,
    write_key: fn(&mut String, &str),
    write_value: fn(&mut String, &Value),
) {
    out.push('{');
    write_items(out, state.iter(), |out, (key, value)| {
        write_key(out, key);
        out.push_str(": ");
        write_value(out, value);
    });
    out.push('}');
}

/// Writes a text in quotes: double ones if it holds single ones and no double ones, else single.
fn write_text(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                match code {
                    0..=0xff => write_infallible(out, format_args!("\\x{code:02x}")),
                    0x100..=0xffff => write_infallible(out, format_args!("\\u{code:04x}")),
                    _ => write_infallible(out, format_args!("\\U{code:08x}")),
                }
            }
        }
    }
    out.push(quote);
}

/// Whether Python's `str.isprintable` holds for the character.
fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return (' '..='~').contains(&character);
    }
    !matches!(
        get_general_category(character),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::Surrogate
            | GeneralCategory::PrivateUse
            | GeneralCategory::Unassigned
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
            | GeneralCategory::SpaceSeparator
    )
}

fn write_infallible(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a `String` cannot fail; the trait only allows for writers that can.
    let _ = out.write_fmt(text);
}
