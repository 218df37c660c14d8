//! A number as the user gave it.

use std::fmt;

use crate::error::{Error, Result};
use crate::repr::float::float_repr;
use crate::value::Value;

/// A number kept as it was given: Python stores an int, a float or a bool in the same field, and
/// the run id tells them apart.
///
/// Equality is bit for bit, as for [`Value`]; [`as_f64`](Number::as_f64) compares by amount.
///
/// ```
/// use nnx_params::Number;
///
/// assert_ne!(Number::from(1), Number::from(1.0));
/// assert_eq!(Number::from(1).as_f64(), Number::from(true).as_f64());
/// assert_eq!(Number::from(1e-5).to_string(), "1e-05");
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// `True` or `False`, which Python counts as 1 and 0.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
}

/// The floats that fit an `i64`: -2^63 does, 2^63 does not.
const I64_RANGE: std::ops::Range<f64> = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;

impl Number {
    /// The amount as a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Bool(flag) => f64::from(u8::from(flag)),
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// The amount as an integer: none for a float with a fraction, a NaN, an infinity, or an
    /// amount beyond 64 bits.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Self::Bool(flag) => Some(i64::from(flag)),
            Self::Int(int) => Some(int),
            Self::Float(float) if float.fract() == 0.0 && I64_RANGE.contains(&float) => {
                Some(float as i64)
            }
            Self::Float(_) => None,
        }
    }

    /// Whether Python's `bool(number)` is true.
    pub fn truth(self) -> bool {
        match self {
            Self::Bool(flag) => flag,
            Self::Int(int) => int != 0,
            Self::Float(float) => float != 0.0,
        }
    }

    /// Whether a flag is anything but Python's `True`, `1` included.
    pub(crate) fn is_not_true(&self) -> bool {
        *self != Self::Bool(true)
    }

    /// Whether Python's `==` holds: `0`, `0.0`, `-0.0` and `False` are one amount.
    pub(crate) fn same_amount(self, other: impl Into<Number>) -> bool {
        match (self, other.into()) {
            (Self::Int(a), Self::Int(b)) => a == b,
            (a, b) => a.as_f64() == b.as_f64(),
        }
    }

    /// The number in `value`, whatever its amount.
    pub(crate) fn from_value(class: &'static str, field: &str, value: &Value) -> Result<Self> {
        match value {
            Value::Bool(flag) => Ok(Self::Bool(*flag)),
            Value::Float(float) => Ok(Self::Float(*float)),
            Value::Int(int) => i64::try_from(*int)
                .map(Self::Int)
                .map_err(|_| Error::invalid(class, field, "an integer of at most 64 bits", value)),
            _ => Err(Error::wrong_type(class, field, "a number", value)),
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        Value::from(*self) == Value::from(*other)
    }
}

impl Eq for Number {}

/// Writes the number as Python's `repr` does.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Int(int) => write!(f, "{int}"),
            Self::Float(float) => f.write_str(&float_repr(*float)),
        }
    }
}

impl From<f64> for Number {
    fn from(float: f64) -> Self {
        Self::Float(float)
    }
}

impl From<i64> for Number {
    fn from(int: i64) -> Self {
        Self::Int(int)
    }
}

impl From<i32> for Number {
    fn from(int: i32) -> Self {
        Self::Int(i64::from(int))
    }
}

impl From<bool> for Number {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        match number {
            Number::Bool(flag) => Self::Bool(flag),
            Number::Int(int) => Self::Int(i128::from(int)),
            Number::Float(float) => Self::Float(float),
        }
    }
}
