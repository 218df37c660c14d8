//! The text that `yaml.safe_dump(state, sort_keys=True)` gives.

use crate::repr::float::yaml_float;
use crate::value::{State, Value};

use super::analysis::{is_simple_key, style};
use super::scalar::Page;
use super::style::{Mode, Style};

/// Spaces of one level.
const STEP: usize = 2;

/// The text that PyYAML's `safe_dump(state, sort_keys=True)` gives: block style, keys in the order
/// of their code points, lines folded at 80 columns, ASCII only. A tuple is written as a list.
///
/// ```
/// use nnx_params::State;
/// use nnx_params::yaml::to_yaml;
///
/// let state = State::from_iter([("weight_decay", 5e-5), ("lr", 1.0)]);
/// assert_eq!(to_yaml(&state), "lr: 1.0\nweight_decay: 5.0e-05\n");
/// ```
pub fn to_yaml(state: &State) -> String {
    document(state, Page::new(Mode::Sorted))
}

/// The text that PyYAML's `dump(state, sort_keys=False, allow_unicode=True)` gives: the same with
/// the keys in their order, and with printable characters as they are.
///
/// ```
/// use nnx_params::State;
/// use nnx_params::yaml::to_yaml_in_order;
///
/// let state = State::from_iter([("b", "日本"), ("a", "08"), ("c", "1:30")]);
/// assert_eq!(to_yaml_in_order(&state), "b: 日本\na: 08\nc: '1:30'\n");
/// ```
pub fn to_yaml_in_order(state: &State) -> String {
    document(state, Page::new(Mode::InOrder))
}

fn document(state: &State, mut page: Page) -> String {
    if state.is_empty() {
        page.put("{}");
        page.end_line();
    } else {
        mapping(&mut page, state, 0);
    }
    page.into_text()
}

/// A block mapping, whose first line begins at the current column.
fn mapping(page: &mut Page, state: &State, indent: usize) {
    let mut entries: Vec<(&str, &Value)> = state.iter().collect();
    if page.mode() == Mode::Sorted {
        entries.sort_unstable_by_key(|(key, _)| *key);
    }
    for (index, (key, item)) in entries.into_iter().enumerate() {
        if index > 0 {
            page.put(&" ".repeat(indent));
        }
        let inner = indent.saturating_add(STEP);
        if is_simple_key(key) {
            page.scalar(key, style(key, true, page.mode()), inner, true);
            page.put(":");
        } else {
            // A key that does not fit one line follows a `?`.
            page.put("? ");
            page.scalar(key, style(key, false, page.mode()), inner, false);
            page.end_line();
            page.put(&" ".repeat(indent));
            page.put(":");
        }
        let is_long_key = !is_simple_key(key);
        match item {
            Value::Map(state) if !state.is_empty() => {
                if is_long_key {
                    page.put(" ");
                } else {
                    page.end_line();
                    page.put(&" ".repeat(inner));
                }
                mapping(page, state, inner);
            }
            Value::List(items) | Value::Tuple(items) if !items.is_empty() => {
                if is_long_key {
                    page.put(" ");
                    sequence(page, items, inner);
                } else {
                    // The dashes are in the column of the key.
                    page.end_line();
                    page.put(&" ".repeat(indent));
                    sequence(page, items, indent);
                }
            }
            item => {
                page.put(" ");
                leaf(page, item, inner);
            }
        }
    }
}

/// A block sequence, whose first line begins at the current column.
fn sequence(page: &mut Page, items: &[Value], indent: usize) {
    let inner = indent.saturating_add(STEP);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            page.put(&" ".repeat(indent));
        }
        page.put("- ");
        match item {
            Value::Map(state) if !state.is_empty() => mapping(page, state, inner),
            Value::List(items) | Value::Tuple(items) if !items.is_empty() => {
                sequence(page, items, inner);
            }
            item => leaf(page, item, inner),
        }
    }
}

/// A scalar or an empty collection, and the end of its line.
fn leaf(page: &mut Page, value: &Value, indent: usize) {
    match value {
        Value::None => page.put("null"),
        Value::Bool(true) => page.put("true"),
        Value::Bool(false) => page.put("false"),
        Value::Int(int) => page.put(&int.to_string()),
        Value::Float(float) => page.put(&yaml_float(*float)),
        Value::Str(text) => match (style(text, false, page.mode()), text.as_str()) {
            (Style::Plain, "") => page.put("''"),
            (style, text) => page.scalar(text, style, indent, false),
        },
        Value::List(_) | Value::Tuple(_) => page.put("[]"),
        Value::Map(_) => page.put("{}"),
    }
    page.end_line();
}
