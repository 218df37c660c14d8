//! The ordered mapping that every configuration is stored as.

use indexmap::IndexMap;

use crate::Value;

/// A mapping from text to [`Value`] in insertion order: what Python's `state()` returns.
///
/// The order is part of the value: two states with the same entries in another order differ,
/// because they give different run ids.
///
/// ```
/// use nnx_params::{State, Value};
///
/// let state = State::from_iter([("input_dim", Value::from(4)), ("activation", Value::None)]);
/// assert_eq!(state.get("input_dim"), Some(&Value::Int(4)));
/// assert_eq!(state.keys().collect::<Vec<_>>(), ["input_dim", "activation"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct State(IndexMap<String, Value>);

impl State {
    /// A state without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an entry and gives back the value it had; a new key goes last, a known one keeps its
    /// place.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        self.0.insert(key.into(), value.into())
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Takes an entry out; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.0.shift_remove(key)
    }

    /// Whether there is an entry of this key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The values in order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.0.values()
    }

    /// The state followed by the entries of `unknown`.
    pub(crate) fn followed_by(mut self, unknown: &State) -> Self {
        for (key, value) in unknown.iter() {
            self.0
                .entry(key.to_owned())
                .or_insert_with(|| value.clone());
        }
        self
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().eq(other.0.iter())
    }
}

impl Eq for State {}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for State {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self(
            entries
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }
}

impl<K: Into<String>, V: Into<Value>> Extend<(K, V)> for State {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl IntoIterator for State {
    type Item = (String, Value);
    type IntoIter = indexmap::map::IntoIter<String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a State {
    type Item = (&'a String, &'a Value);
    type IntoIter = indexmap::map::Iter<'a, String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
