//! The momentum of an optimizer.

use std::fmt;

use crate::class::{BELOW_ONE, FieldType, NOT_NEGATIVE, finite};
use crate::error::{Error, Result};
use crate::number::Number;
use crate::value::Value;

/// The momentum of an optimizer: one number for gradient descent, two betas for Adam.
///
/// ```
/// use nnx_params::Momentum;
///
/// assert_eq!(Momentum::from((0.9, 0.999)).to_string(), "(0.9, 0.999)");
/// assert_eq!(Momentum::from(0.9).to_string(), "0.9");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Momentum {
    /// The momentum of gradient descent, at least 0.
    Single(Number),
    /// The betas of Adam, from 0 to below 1.
    Betas(Number, Number),
}

impl Momentum {
    /// The momentum in a value, which is a number or a tuple of two; a list is neither.
    pub(crate) fn from_value(class: &'static str, field: &str, value: &Value) -> Result<Self> {
        match value {
            Value::Tuple(betas) => match betas.as_slice() {
                [first, second] => Ok(Self::Betas(
                    finite(class, &format!("{field}[0]"), first, &BELOW_ONE)?,
                    finite(class, &format!("{field}[1]"), second, &BELOW_ONE)?,
                )),
                _ => Err(Error::invalid(class, field, "a tuple of two betas", value)),
            },
            _ => finite(class, field, value, &NOT_NEGATIVE).map(Self::Single),
        }
    }
}

impl FieldType for Momentum {
    fn to_value(&self, _: bool) -> Value {
        (*self).into()
    }
}

/// Writes the momentum as Python's `str` does.
impl fmt::Display for Momentum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Single(momentum) => momentum.fmt(f),
            Self::Betas(first, second) => write!(f, "({first}, {second})"),
        }
    }
}

impl<T: Into<Number>> From<(T, T)> for Momentum {
    fn from((first, second): (T, T)) -> Self {
        Self::Betas(first.into(), second.into())
    }
}

impl From<f64> for Momentum {
    fn from(momentum: f64) -> Self {
        Self::Single(momentum.into())
    }
}

impl From<Number> for Momentum {
    fn from(momentum: Number) -> Self {
        Self::Single(momentum)
    }
}

impl From<Momentum> for Value {
    fn from(momentum: Momentum) -> Self {
        match momentum {
            Momentum::Single(momentum) => momentum.into(),
            Momentum::Betas(first, second) => Self::Tuple(vec![first.into(), second.into()]),
        }
    }
}
