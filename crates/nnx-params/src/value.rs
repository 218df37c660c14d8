//! The plain values that NNx states are made of, and the states: mappings of such values.

use indexmap::IndexMap;

/// One value of a [`State`]: Python's `None`, `bool`, `int`, `float`, `str`, `list`, `tuple` or
/// `dict`.
///
/// Integers and floats stay apart, because `0` and `0.0` give different run ids.
/// Two values are equal when they are the same bit for bit, so that a NaN equals itself and `0.0`
/// differs from `-0.0`.
///
/// ```
/// use nnx_params::Value;
///
/// assert_ne!(Value::from(0), Value::from(0.0));
/// assert_eq!(Value::from(f64::NAN), Value::from(f64::NAN));
/// ```
#[derive(Clone, Debug)]
pub enum Value {
    /// Python's `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A 64-bit float, NaN and infinities included.
    Float(f64),
    /// Text.
    Str(String),
    /// A list.
    List(Vec<Value>),
    /// A tuple.
    Tuple(Vec<Value>),
    /// A mapping with text keys, in insertion order.
    Map(State),
}

impl Value {
    /// Whether the value is Python's `None`.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The text, if the value is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The integer, if the value is one; a bool is none.
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// The float, if the value is one; an integer is none.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Self::Float(float) => Some(*float),
            _ => None,
        }
    }

    /// The truth value, if the value is `True` or `False`.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The items, if the value is a list or a tuple.
    pub fn as_items(&self) -> Option<&[Value]> {
        match self {
            Self::List(items) | Self::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// The mapping, if the value is one.
    pub fn as_map(&self) -> Option<&State> {
        match self {
            Self::Map(state) => Some(state),
            _ => None,
        }
    }

    /// The name of the value's Python type, such as `int` or `NoneType`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::None => "NoneType",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) => "str",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Map(_) => "dict",
        }
    }

    /// Whether Python's `bool(value)` is true.
    pub(crate) fn truth(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(flag) => *flag,
            Self::Int(int) => *int != 0,
            Self::Float(float) => *float != 0.0,
            Self::Str(text) => !text.is_empty(),
            Self::List(items) | Self::Tuple(items) => !items.is_empty(),
            Self::Map(state) => !state.is_empty(),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::List(a), Self::List(b)) | (Self::Tuple(a), Self::Tuple(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Value {}

macro_rules! from_integer {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Value {
            fn from(int: $integer) -> Self {
                Self::Int(i128::from(int))
            }
        }
    )*};
}

from_integer!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

impl From<usize> for Value {
    fn from(int: usize) -> Self {
        // No platform has a `usize` wider than 64 bits.
        Self::Int(int as i128)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<f64> for Value {
    fn from(float: f64) -> Self {
        Self::Float(float)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Str(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Str(text)
    }
}

impl From<State> for Value {
    fn from(state: State) -> Self {
        Self::Map(state)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

/// A mapping from text to [`Value`] in insertion order: the result of Python's `state()`.
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

    /// Takes an entry out that is null or otherwise empty, which is how a state may have a default.
    pub(crate) fn remove_empty(&mut self, key: &str) {
        if !self.get(key).is_some_and(Value::truth) {
            self.remove(key);
        }
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

    /// Moves the entries of some keys to the front, in the order of these keys.
    pub(crate) fn sort_by_order(&mut self, first: &[&str]) {
        self.0.sort_by_cached_key(|key, _| {
            let position = first.iter().position(|name| name == key);
            position.unwrap_or(first.len())
        });
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
