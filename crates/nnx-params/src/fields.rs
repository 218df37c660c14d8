//! Reading the fields of a class with the checks that the Python constructors share.

use crate::python_text::literal_eval;
use crate::{Error, Number, Result, State, Value};

/// The arguments of one constructor call.
pub(crate) struct Fields<'a> {
    pub(crate) class: &'static str,
    state: &'a State,
}

/// What a real number may be.
pub(crate) struct Domain {
    text: &'static str,
    contains: fn(f64) -> bool,
}

pub(crate) const POSITIVE: Domain = Domain {
    text: "a finite number > 0",
    contains: |x| x > 0.0,
};
pub(crate) const NOT_NEGATIVE: Domain = Domain {
    text: "a finite number >= 0",
    contains: |x| x >= 0.0,
};
pub(crate) const PROBABILITY: Domain = Domain {
    text: "a number >= 0 and <= 1",
    contains: |x| (0.0..=1.0).contains(&x),
};
pub(crate) const BELOW_ONE: Domain = Domain {
    text: "a finite number >= 0 and < 1",
    contains: |x| (0.0..1.0).contains(&x),
};

static NONE: Value = Value::None;

impl<'a> Fields<'a> {
    /// The arguments in `state`, all of which must be among `known`.
    pub(crate) fn new(class: &'static str, state: &'a State, known: &[&str]) -> Result<Self> {
        match state.keys().find(|key| !known.contains(key)) {
            None => Ok(Self { class, state }),
            Some(key) => Err(Error::new(crate::ErrorKind::UnexpectedField {
                class,
                field: key.to_owned(),
            })),
        }
    }

    /// The value given, if any.
    pub(crate) fn given(&self, field: &str) -> Option<&'a Value> {
        self.state.get(field)
    }

    /// The value given; `None` if nothing was.
    pub(crate) fn get(&self, field: &str) -> &'a Value {
        self.given(field).unwrap_or(&NONE)
    }

    /// The value of a field without a default.
    pub(crate) fn required(&self, field: &str) -> Result<&'a Value> {
        self.given(field).ok_or_else(|| {
            Error::new(crate::ErrorKind::MissingField {
                class: self.class,
                field: field.to_owned(),
            })
        })
    }

    /// A count without a default.
    pub(crate) fn count(&self, field: &str, minimum: usize) -> Result<usize> {
        count(self.class, field, self.required(field)?, minimum)
    }

    /// A count with a default.
    pub(crate) fn count_or(&self, field: &str, minimum: usize, default: usize) -> Result<usize> {
        self.given(field).map_or(Ok(default), |value| {
            count(self.class, field, value, minimum)
        })
    }

    /// A count that may be `None`.
    pub(crate) fn optional_count(&self, field: &str, minimum: usize) -> Result<Option<usize>> {
        self.optional(field, |value| count(self.class, field, value, minimum))
    }

    /// A finite number without a default.
    pub(crate) fn finite(&self, field: &str, domain: &Domain) -> Result<Number> {
        finite(self.class, field, self.required(field)?, domain)
    }

    /// A finite number with a default.
    pub(crate) fn finite_or(
        &self,
        field: &str,
        domain: &Domain,
        default: impl Into<Number>,
    ) -> Result<Number> {
        match self.given(field) {
            None => Ok(default.into()),
            Some(value) => finite(self.class, field, value, domain),
        }
    }

    /// A finite number that may be `None`.
    pub(crate) fn optional_finite(&self, field: &str, domain: &Domain) -> Result<Option<Number>> {
        self.optional(field, |value| finite(self.class, field, value, domain))
    }

    /// A number of any amount without a default.
    pub(crate) fn number(&self, field: &str) -> Result<Number> {
        Number::from_value(self.class, field, self.required(field)?)
    }

    /// A number of any amount with a default.
    pub(crate) fn number_or(&self, field: &str, default: impl Into<Number>) -> Result<Number> {
        self.given(field).map_or_else(
            || Ok(default.into()),
            |value| Number::from_value(self.class, field, value),
        )
    }

    /// A number of any amount that may be `None`.
    pub(crate) fn optional_number(&self, field: &str) -> Result<Option<Number>> {
        self.optional(field, |value| Number::from_value(self.class, field, value))
    }

    /// A text without a default.
    pub(crate) fn text(&self, field: &str) -> Result<String> {
        text(self.class, field, self.required(field)?)
    }

    /// A text that may be `None`.
    pub(crate) fn optional_text(&self, field: &str) -> Result<Option<String>> {
        self.optional(field, |value| text(self.class, field, value))
    }

    /// The items of a list or tuple; `None` where nothing or `None` was given.
    pub(crate) fn optional_items(&self, field: &str) -> Result<Option<&'a [Value]>> {
        self.optional(field, |value| {
            value
                .as_items()
                .ok_or_else(|| Error::wrong_type(self.class, field, "a list or tuple", value))
        })
    }

    /// Reads a value unless it is `None`.
    pub(crate) fn optional<T>(
        &self,
        field: &str,
        read: impl FnOnce(&'a Value) -> Result<T>,
    ) -> Result<Option<T>> {
        match self.get(field) {
            Value::None => Ok(None),
            value => read(value).map(Some),
        }
    }
}

/// An integer of at least `minimum`; a bool or a float, `2.0` included, is none.
///
/// NNx 0.4.1 raises `ValueError` here for a value of any wrong type.
pub(crate) fn count(
    class: &'static str,
    field: &str,
    value: &Value,
    minimum: usize,
) -> Result<usize> {
    value
        .as_int()
        .and_then(|int| usize::try_from(int).ok())
        .filter(|count| *count >= minimum)
        .ok_or_else(|| {
            let domain = match minimum {
                _ if value.as_int().is_some_and(is_wide) => {
                    "an integer of at most 64 bits".to_owned()
                }
                1 => "an integer > 0".to_owned(),
                _ => format!("an integer >= {minimum}"),
            };
            Error::invalid(class, field, domain, value)
        })
}

/// Whether an integer is above all counts that 64 bits hold.
pub(crate) fn is_wide(int: i128) -> bool {
    int > i128::from(u64::MAX)
}

/// A finite int or float in the domain; a bool is none.
///
/// NNx 0.4.1 raises `ValueError` here for a value of any wrong type.
pub(crate) fn finite(
    class: &'static str,
    field: &str,
    value: &Value,
    domain: &Domain,
) -> Result<Number> {
    match value {
        // Python takes such an integer, so that its size and not its domain is at fault.
        Value::Int(int) if i64::try_from(*int).is_err() && (domain.contains)(*int as f64) => {
            return Number::from_value(class, field, value);
        }
        Value::Int(_) | Value::Float(_) => Number::from_value(class, field, value)
            .ok()
            .filter(|number| number.as_f64().is_finite() && (domain.contains)(number.as_f64())),
        _ => None,
    }
    .ok_or_else(|| Error::invalid(class, field, domain.text, value))
}

/// A number from 0 to 1, bools included.
///
/// The bare comparison of the Python code raises `TypeError` for what is no number.
pub(crate) fn probability(class: &'static str, field: &str, value: &Value) -> Result<Number> {
    let number = match value {
        // An integer too large for a `Number` is out of the domain as well.
        Value::Int(int) if i64::try_from(*int).is_err() => None,
        _ => Some(Number::from_value(class, field, value)?),
    };
    number
        .filter(|number| (PROBABILITY.contains)(number.as_f64()))
        .ok_or_else(|| Error::invalid(class, field, PROBABILITY.text, value))
}

/// A text.
pub(crate) fn text(class: &'static str, field: &str, value: &Value) -> Result<String> {
    value
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| Error::wrong_type(class, field, "a text", value))
}

/// A text of letters, digits, `_`, `.` and `-` that starts with a letter or digit, all ASCII.
pub(crate) fn slug(class: &'static str, field: &str, value: &Value) -> Result<String> {
    value
        .as_str()
        .filter(|text| {
            text.starts_with(|c: char| c.is_ascii_alphanumeric())
                && text
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
        })
        .map(str::to_owned)
        .ok_or_else(|| {
            let domain =
                "a text of letters, digits, `.`, `_` and `-` that starts with a letter or digit";
            Error::invalid(class, field, domain, value)
        })
}

/// A mapping with text keys.
pub(crate) fn mapping<'a>(class: &'static str, field: &str, value: &'a Value) -> Result<&'a State> {
    value
        .as_map()
        .ok_or_else(|| Error::wrong_type(class, field, "a mapping", value))
}

/// The value that a literal in a text stands for.
pub(crate) fn literal(class: &'static str, field: &str, value: &Value) -> Result<Value> {
    match value.as_str() {
        Some(text) => literal_eval(text).map_err(|error| error.in_field(class, field)),
        None => Err(Error::invalid(
            class,
            field,
            "a text that holds a Python literal",
            value,
        )),
    }
}

/// Splits a state read from a file into the keys that a class knows and the others.
///
/// # Errors
///
/// One of the required keys is missing.
pub(crate) fn split_state(
    class: &'static str,
    state: &State,
    required: &[&str],
    optional: &[&str],
) -> Result<(State, State)> {
    if let Some(key) = required.iter().find(|key| !state.contains_key(key)) {
        return Err(Error::missing_key(class, key));
    }
    let (mut known, mut unknown) = (State::new(), State::new());
    for (key, value) in state {
        let part = if required.contains(&key.as_str()) || optional.contains(&key.as_str()) {
            &mut known
        } else {
            &mut unknown
        };
        part.insert(key.clone(), value.clone());
    }
    Ok((known, unknown))
}

/// The methods that every class has for the keys that this version does not know.
macro_rules! keeps_unknown {
    () => {
        /// The keys that [`from_state`](Self::from_state) met and this version does not know.
        pub fn unknown(&self) -> &$crate::State {
            &self.unknown
        }
    };
}

/// The setters of a builder that collects constructor arguments.
macro_rules! setters {
    ($( $(#[$meta:meta])* $field:ident: $type:ty as $via:ty, )*) => {$(
        $(#[$meta])*
        pub fn $field(mut self, $field: $type) -> Self {
            let value: $via = $field.into();
            self.fields.insert(stringify!($field), value);
            self
        }
    )*};
}

pub(crate) use {keeps_unknown, setters};

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: std::fmt::Debug>(result: Result<T>, domain: &str) {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(&format!("must be {domain}, found")), "{text}");
    }

    #[test]
    fn what_is_too_wide_is_told_from_what_is_out_of_the_domain() {
        let wide = Value::from(1_180_591_620_717_411_303_424_i128);
        let below = Value::from(-1_180_591_620_717_411_303_424_i128);
        let of_64_bits = "an integer of at most 64 bits";
        for minimum in [0, 1, 2] {
            check(count("C", "f", &wide, minimum), of_64_bits);
        }
        check(count("C", "f", &below, 0), "an integer >= 0");
        check(count("C", "f", &1.into(), 2), "an integer >= 2");
        check(finite("C", "f", &wide, &POSITIVE), of_64_bits);
        check(finite("C", "f", &below, &POSITIVE), POSITIVE.text);
        check(finite("C", "f", &wide, &BELOW_ONE), BELOW_ONE.text);
    }
}
