//! Python's classes as declarations.
//!
//! A class is declared once, by [`python_class!`]: its fields with their types, domains, defaults
//! and documentation. The macro makes of it the type, its getters, its builder, the constructor
//! from arguments, the state and the pickle form. Checks across fields are functions that the
//! declaration names.
//!
//! - [`arguments`]: the arguments of one constructor call.
//! - [`domains`]: the checks that a value must pass to become a field.
//! - [`field_spec`]: how a field is read, its default, and when a state has it.
//! - [`field_type`]: how the type of a field becomes a value.
//! - [`pickled`]: the pickle form.

mod arguments;
mod declare;
mod declared;
mod domains;
mod field_spec;
mod field_type;
mod get;
mod pickled;
mod python_enum;

pub(crate) use arguments::Arguments;
pub(crate) use declare::{
    class_builder, class_struct, field_key, getter, ordered, pickle_form, python_class, setters,
};
pub(crate) use declared::{
    Closed, Declared, Head, KeepsUnknown, from_state, state_methods, state_of,
};
pub(crate) use domains::{
    BELOW_ONE, NOT_NEGATIVE, PROBABILITY, count, count_from, finite, is_wide, literal, mapping,
    not_negative, number, object, positive, probability, slug, state, text, truth,
};
pub(crate) use field_spec::{FieldSpec, by, defaulted, optional, required};
pub(crate) use field_type::FieldType;
pub(crate) use get::Get;
pub use pickled::{ClassTable, PickleForm, PickledInstance, PickledValue, PythonClass};
pub(crate) use python_enum::{python_enum, text_enum};
