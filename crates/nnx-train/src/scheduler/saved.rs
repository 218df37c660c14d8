//! Reading the saved state of a schedule. As in PyTorch, fields that are not in it stay as they
//! are.

use nnx_params::{Number, Value};
use nnx_run::Data;

use crate::error::{Error, ErrorKind, Result};

/// The saved state of a schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saved<'a>(pub(super) &'a Data);

impl<'a> Saved<'a> {
    /// A value that is there.
    pub(super) fn get(self, name: &str) -> Option<&'a Data> {
        self.0.get(name)
    }

    /// Reads a number.
    pub(super) fn number(self, name: &str, into: &mut Number) -> Result<()> {
        if let Some(value) = self.get(name) {
            *into = number(value).ok_or_else(|| unexpected(name, "a number"))?;
        }
        Ok(())
    }

    /// Reads an amount.
    pub(super) fn float(self, name: &str, into: &mut f64) -> Result<()> {
        if let Some(value) = self.get(name) {
            *into = value.as_f64().ok_or_else(|| unexpected(name, "a number"))?;
        }
        Ok(())
    }

    /// Reads a count.
    pub(super) fn count<T: TryFrom<i128>>(self, name: &str, into: &mut T) -> Result<()> {
        if let Some(value) = self.get(name) {
            let count = value.as_int().and_then(|count| T::try_from(count).ok());
            *into = count.ok_or_else(|| unexpected(name, "an integer of at most 64 bits"))?;
        }
        Ok(())
    }

    /// Reads a list of numbers.
    pub(super) fn numbers(self, name: &str, into: &mut Vec<Number>) -> Result<()> {
        if let Some(value) = self.get(name) {
            let items = value
                .items()
                .map(|items| items.iter().map(number).collect());
            let items: Option<Option<Vec<_>>> = items;
            *into = items
                .flatten()
                .ok_or_else(|| unexpected(name, "a list of numbers"))?;
        }
        Ok(())
    }
}

/// A number, with the type that it has in Python.
pub(super) fn number(data: &Data) -> Option<Number> {
    match data {
        Data::Bool(flag) => Some(Number::Bool(*flag)),
        Data::Int(int) => i64::try_from(*int).ok().map(Number::Int),
        _ => data.as_f64().map(Number::Float),
    }
}

/// A number as data.
pub(super) fn data(number: Number) -> Data {
    Data::from(&Value::from(number))
}

/// A list of numbers as data.
pub(super) fn list(numbers: &[Number]) -> Data {
    Data::List(numbers.iter().copied().map(data).collect())
}

#[cold]
pub(super) fn unexpected(name: &str, expected: &str) -> Error {
    let what =
        format!("expected {expected} as `{name}` in the state of a schedule, found another value");
    ErrorKind::CannotResume { what }.into()
}
