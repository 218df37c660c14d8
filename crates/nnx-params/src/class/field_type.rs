//! How the type of a field becomes a value of a state, and of a pickle.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use crate::class::pickled::{ClassTable, PickledValue};
use crate::number::Number;
use crate::value::{State, Value};

/// The type of a field.
pub(crate) trait FieldType {
    /// The classes whose instances a pickle may have as the field's value.
    const CLASSES: &'static [&'static ClassTable] = &[];

    /// The value in a state, and as the argument of a constructor; in a full one, nested objects
    /// have the keys that this version does not know.
    fn to_value(&self, full: bool) -> Value;

    /// The value in a pickle.
    fn to_pickled(&self) -> PickledValue {
        PickledValue::Plain(self.to_value(true))
    }

    /// Whether the value is the same as the default, which a state may leave out.
    fn is_same(&self, default: &Self) -> bool {
        self.to_value(true) == default.to_value(true)
    }
}

macro_rules! plain_types {
    ($($plain:ty),*) => {$(
        impl FieldType for $plain {
            fn to_value(&self, _: bool) -> Value {
                self.clone().into()
            }
        }
    )*};
}

plain_types!(bool, usize, u64, i64, f64, String, State);

impl FieldType for Number {
    fn to_value(&self, _: bool) -> Value {
        (*self).into()
    }

    /// Python compares amounts: a state leaves out `0` where the default is `0.0`.
    fn is_same(&self, default: &Self) -> bool {
        self.same_amount(*default)
    }
}

impl<T: FieldType> FieldType for &T {
    fn to_value(&self, full: bool) -> Value {
        T::to_value(self, full)
    }
}

impl<T: FieldType> FieldType for Option<T> {
    const CLASSES: &'static [&'static ClassTable] = T::CLASSES;

    fn to_value(&self, full: bool) -> Value {
        self.as_ref()
            .map_or(Value::None, |value| value.to_value(full))
    }

    fn to_pickled(&self) -> PickledValue {
        self.as_ref()
            .map_or(PickledValue::Plain(Value::None), T::to_pickled)
    }

    fn is_same(&self, default: &Self) -> bool {
        match (self, default) {
            (None, None) => true,
            (Some(value), Some(default)) => value.is_same(default),
            _ => false,
        }
    }
}

impl<T: FieldType> FieldType for Vec<T> {
    fn to_value(&self, full: bool) -> Value {
        Value::List(self.iter().map(|item| item.to_value(full)).collect())
    }

    /// NNx freezes the lists of its frozen dataclasses.
    fn to_pickled(&self) -> PickledValue {
        PickledValue::ImmutableList(self.iter().map(T::to_pickled).collect())
    }
}

/// Metrics by name.
impl FieldType for BTreeMap<String, Number> {
    fn to_value(&self, _: bool) -> Value {
        State::from_iter(self.clone()).into()
    }

    fn to_pickled(&self) -> PickledValue {
        PickledValue::FrozenMetrics(self.clone())
    }
}

/// Objects by name: a state has the names in the order of their code points.
impl<T: FieldType> FieldType for IndexMap<String, T> {
    fn to_value(&self, full: bool) -> Value {
        let mut entries: Vec<_> = self.iter().collect();
        entries.sort_by_key(|(name, _)| *name);
        entries
            .into_iter()
            .map(|(name, object)| (name.as_str(), object.to_value(full)))
            .collect::<State>()
            .into()
    }
}
