//! Reading the JSON beside the fixtures, ints and floats kept apart.

use std::path::Path;

use nnx_params::{State, Value, python_text};

/// A value of a side-car. Non-finite floats, which the side-cars spell `{"float": "nan"}`, are
/// floats here.
#[derive(Clone, Debug, PartialEq)]
pub struct Json(pub Value);

impl Json {
    /// Reads a file.
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let value = python_text::json_loads(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self(with_floats(value))
    }

    /// The member of that name; none when it is absent or null.
    pub fn find(&self, key: &str) -> Option<Self> {
        match &self.0 {
            Value::Map(state) => state.get(key).filter(|value| **value != Value::None),
            other => panic!("{other:?} has no members, looked for `{key}`"),
        }
        .cloned()
        .map(Self)
    }

    /// The member of that name.
    pub fn get(&self, key: &str) -> Self {
        self.find(key)
            .unwrap_or_else(|| panic!("no member `{key}` in {:?}", self.0))
    }

    /// The members of an array.
    pub fn items(&self) -> Vec<Self> {
        match &self.0 {
            Value::List(items) => items.iter().cloned().map(Self).collect(),
            other => panic!("{other:?} is no array"),
        }
    }

    /// A text.
    pub fn text(&self) -> &str {
        match &self.0 {
            Value::Str(text) => text,
            other => panic!("{other:?} is no text"),
        }
    }

    /// Whether it is a text.
    pub fn is_text(&self) -> bool {
        matches!(self.0, Value::Str(_))
    }

    /// A whole number from 0.
    pub fn size(&self) -> usize {
        match &self.0 {
            Value::Int(value) => usize::try_from(*value).expect("a size"),
            other => panic!("{other:?} is no size"),
        }
    }

    /// A number as a float.
    #[expect(clippy::cast_precision_loss, reason = "fixture numbers are small")]
    pub fn float(&self) -> f64 {
        match &self.0 {
            Value::Int(value) => *value as f64,
            Value::Float(value) => *value,
            other => panic!("{other:?} is no number"),
        }
    }

    /// A mapping.
    pub fn state(&self) -> &State {
        match &self.0 {
            Value::Map(state) => state,
            other => panic!("{other:?} is no mapping"),
        }
    }

    /// The texts of an array.
    pub fn texts(&self) -> Vec<String> {
        self.items()
            .iter()
            .map(|item| item.text().to_owned())
            .collect()
    }
}

/// Turns `{"float": "nan"}` into the float.
fn with_floats(value: Value) -> Value {
    match value {
        Value::Map(state) => {
            if let (1, Some(Value::Str(text))) = (state.len(), state.get("float")) {
                return Value::Float(text.parse().expect("a float"));
            }
            Value::Map(
                state
                    .into_iter()
                    .map(|(key, value)| (key, with_floats(value)))
                    .collect(),
            )
        }
        Value::List(items) => Value::List(items.into_iter().map(with_floats).collect()),
        other => other,
    }
}
