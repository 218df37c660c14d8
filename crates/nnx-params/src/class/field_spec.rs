//! How a field is read, its default, and when a state has it.

use crate::class::arguments::Arguments;
use crate::class::field_type::FieldType;
use crate::class::pickled::PickledValue;
use crate::error::Result;
use crate::repr::repr;
use crate::value::{State, Value};

/// The declaration of a field of type `T`, whose argument `R` reads.
pub(crate) struct FieldSpec<T, R> {
    read: R,
    default: Option<T>,
    written: Written<T>,
    as_text: bool,
    pickled: fn(&T) -> PickledValue,
}

/// When a state has the field.
enum Written<T> {
    Always,
    Never,
    UnlessDefault,
    If(fn(&T) -> bool),
}

/// A field that must be given; a state always has it.
pub(crate) fn required<T: FieldType>(
    domain: impl Fn(&'static str, &str, &Value) -> Result<T>,
) -> FieldSpec<T, impl Fn(&Arguments<'_>, &str) -> Result<T>> {
    by(move |arguments, field| domain(arguments.class, field, arguments.required(field)?))
}

/// A field with a default; a state has it where it differs.
pub(crate) fn defaulted<T: FieldType>(
    domain: impl Fn(&'static str, &str, &Value) -> Result<T>,
    default: T,
) -> FieldSpec<T, impl Fn(&Arguments<'_>, &str) -> Result<T>> {
    required(domain).or(default)
}

/// A field that may be `None`, which is its default; a state has it where it is set.
pub(crate) fn optional<T: FieldType>(
    domain: impl Fn(&'static str, &str, &Value) -> Result<T>,
) -> FieldSpec<Option<T>, impl Fn(&Arguments<'_>, &str) -> Result<Option<T>>> {
    by(move |arguments, field| arguments.optional(field, &domain)).or(None)
}

/// A field that a function reads, from all the arguments; a state always has it.
pub(crate) fn by<T, R>(read: R) -> FieldSpec<T, R>
where
    T: FieldType,
    R: Fn(&Arguments<'_>, &str) -> Result<T>,
{
    FieldSpec {
        read,
        default: None,
        written: Written::Always,
        as_text: false,
        pickled: T::to_pickled,
    }
}

impl<T, R> FieldSpec<T, R>
where
    T: FieldType,
    R: Fn(&Arguments<'_>, &str) -> Result<T>,
{
    /// The value where no argument was given; a state has the field where it differs.
    pub(crate) fn or(mut self, default: T) -> Self {
        self.default = Some(default);
        self.written = Written::UnlessDefault;
        self
    }

    /// A state always has the field.
    pub(crate) fn always(mut self) -> Self {
        self.written = Written::Always;
        self
    }

    /// No state has the field.
    pub(crate) fn never(mut self) -> Self {
        self.written = Written::Never;
        self
    }

    /// A state has the field where its value meets a condition.
    pub(crate) fn written_if(mut self, condition: fn(&T) -> bool) -> Self {
        self.written = Written::If(condition);
        self
    }

    /// A state has Python's `repr` of the value.
    pub(crate) fn written_as_text(mut self) -> Self {
        self.as_text = true;
        self
    }

    /// The value in a pickle, where it is not that of the type.
    pub(crate) fn pickled(mut self, pickled: fn(&T) -> PickledValue) -> Self {
        self.pickled = pickled;
        self
    }

    /// The field of an object that is being built.
    pub(crate) fn read(self, arguments: &Arguments<'_>, field: &str) -> Result<T> {
        match self.default {
            Some(default) if arguments.given(field).is_none() => Ok(default),
            _ => (self.read)(arguments, field),
        }
    }

    /// Whether a state may have the field.
    pub(crate) fn is_state_key(&self) -> bool {
        !matches!(self.written, Written::Never)
    }

    /// Adds the field to a state that is to have it.
    pub(crate) fn write(&self, field: &str, value: &T, full: bool, state: &mut State) {
        let is_written = match self.written {
            Written::Always => true,
            Written::Never => false,
            Written::UnlessDefault => self
                .default
                .as_ref()
                .is_none_or(|default| !value.is_same(default)),
            Written::If(condition) => condition(value),
        };
        if is_written {
            let value = value.to_value(full);
            if self.as_text {
                state.insert(field, repr(&value));
            } else {
                state.insert(field, value);
            }
        }
    }

    /// The field in a pickle.
    pub(crate) fn to_pickled(&self, value: &T) -> PickledValue {
        (self.pickled)(value)
    }
}
