//! The plain values that NNx states are made of.

use crate::State;

/// One value of a [`State`]: what Python keeps as `None`, `bool`, `int`, `float`, `str`, `list`,
/// `tuple` or `dict`.
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
