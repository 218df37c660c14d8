//! The domains of fields: the checks that the Python constructors share.
//!
//! Each domain is a function of the class, the field and the value, so that its error names them.

use crate::class::pickled::PythonClass;
use crate::error::{Error, Result};
use crate::number::Number;
use crate::python::text::literal_eval;
use crate::value::{State, Value};

/// The domain of a real number.
pub(crate) struct Domain {
    text: &'static str,
    contains: fn(f64) -> bool,
}

const POSITIVE: Domain = Domain {
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

/// An integer of at least `MINIMUM`.
pub(crate) fn count<const MINIMUM: usize>(
    class: &'static str,
    field: &str,
    value: &Value,
) -> Result<usize> {
    count_from(class, field, value, MINIMUM)
}

/// A finite number above 0.
pub(crate) fn positive(class: &'static str, field: &str, value: &Value) -> Result<Number> {
    finite(class, field, value, &POSITIVE)
}

/// A finite number of at least 0.
pub(crate) fn not_negative(class: &'static str, field: &str, value: &Value) -> Result<Number> {
    finite(class, field, value, &NOT_NEGATIVE)
}

/// A number of any amount, infinities and NaN included.
pub(crate) fn number(class: &'static str, field: &str, value: &Value) -> Result<Number> {
    Number::from_value(class, field, value)
}

/// The result of Python's `bool(value)`, for a value of any type.
pub(crate) fn truth(_: &'static str, _: &str, value: &Value) -> Result<bool> {
    Ok(value.truth())
}

/// A mapping with text keys, as it is.
pub(crate) fn state(class: &'static str, field: &str, value: &Value) -> Result<State> {
    mapping(class, field, value).cloned()
}

/// An object of a class, given as its state.
pub(crate) fn object<T: PythonClass>(class: &'static str, field: &str, value: &Value) -> Result<T> {
    T::from_state(mapping(class, field, value)?)
}

/// An integer of at least `minimum`; a bool is none, and neither is a float, `2.0` included.
///
/// NNx 0.4.1 raises `ValueError` here for a value of any wrong type.
pub(crate) fn count_from(
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
/// The bare comparison of the Python code raises `TypeError` for a value that is no number.
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

/// The value of a Python literal, which the field holds as a text.
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
            check(count_from("C", "f", &wide, minimum), of_64_bits);
        }
        check(count_from("C", "f", &below, 0), "an integer >= 0");
        check(count_from("C", "f", &1.into(), 2), "an integer >= 2");
        check(finite("C", "f", &wide, &POSITIVE), of_64_bits);
        check(finite("C", "f", &below, &POSITIVE), POSITIVE.text);
        check(finite("C", "f", &wide, &BELOW_ONE), BELOW_ONE.text);
    }
}
