//! The arguments of one constructor call.

use crate::error::{Error, ErrorKind, Result};
use crate::value::{State, Value};

/// The arguments of one constructor call, by the names of the class's fields.
pub(crate) struct Arguments<'a> {
    pub(crate) class: &'static str,
    state: &'a State,
}

static NONE: Value = Value::None;

impl<'a> Arguments<'a> {
    /// The arguments in `state`, which must all be among the fields of the class.
    pub(crate) fn new(class: &'static str, state: &'a State, fields: &[&str]) -> Result<Self> {
        match state.keys().find(|key| !fields.contains(key)) {
            None => Ok(Self { class, state }),
            Some(key) => Err(Error::new(ErrorKind::UnexpectedField {
                class,
                field: key.to_owned(),
            })),
        }
    }

    /// The argument of a field, if it was given.
    pub(crate) fn given(&self, field: &str) -> Option<&'a Value> {
        self.state.get(field)
    }

    /// The argument of a field; `None` if it was not given.
    pub(crate) fn get(&self, field: &str) -> &'a Value {
        self.given(field).unwrap_or(&NONE)
    }

    /// The argument of a field without a default.
    pub(crate) fn required(&self, field: &str) -> Result<&'a Value> {
        self.given(field).ok_or_else(|| {
            Error::new(ErrorKind::MissingField {
                class: self.class,
                field: field.to_owned(),
            })
        })
    }

    /// An argument of a domain, unless it is `None` or was not given.
    pub(crate) fn optional<T>(
        &self,
        field: &str,
        domain: impl FnOnce(&'static str, &str, &'a Value) -> Result<T>,
    ) -> Result<Option<T>> {
        match self.get(field) {
            Value::None => Ok(None),
            value => domain(self.class, field, value).map(Some),
        }
    }

    /// The items of a list or tuple, unless the argument is `None` or was not given.
    pub(crate) fn optional_items(&self, field: &str) -> Result<Option<&'a [Value]>> {
        self.optional(field, |class, field, value| {
            value
                .as_items()
                .ok_or_else(|| Error::wrong_type(class, field, "a list or tuple", value))
        })
    }

    /// The error of an argument outside its domain.
    #[cold]
    pub(crate) fn invalid(&self, field: &str, domain: impl Into<String>) -> Error {
        Error::invalid(self.class, field, domain, self.get(field))
    }
}
