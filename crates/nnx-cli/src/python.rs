//! Values of NNx states as JSON.

use nnx::params::{State, Value};
use serde::{Serialize, Serializer};

use crate::json::float;

/// A state as a JSON object: keys in their order, integers without and floats with a dot or an
/// exponent, tuples as arrays.
///
/// JSON has no NaN and no infinities; they are the texts `NaN`, `Infinity` and `-Infinity`.
#[derive(Clone, Debug)]
pub(crate) struct JsonState(pub(crate) State);

impl Serialize for JsonState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        state(&self.0, serializer)
    }
}

impl JsonState {
    /// The state as a value.
    pub(crate) fn as_value(&self) -> Value {
        Value::Map(self.0.clone())
    }
}

struct JsonValue<'a>(&'a Value);

impl Serialize for JsonValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::None => serializer.serialize_none(),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Int(int) => serializer.serialize_i128(*int),
            Value::Float(number) => float(*number, serializer),
            Value::Str(text) => serializer.serialize_str(text),
            Value::List(items) | Value::Tuple(items) => {
                serializer.collect_seq(items.iter().map(JsonValue))
            }
            Value::Map(map) => state(map, serializer),
        }
    }
}

fn state<S: Serializer>(state: &State, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(state.iter().map(|(key, value)| (key, JsonValue(value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: Value, expected: &str) {
        assert_eq!(serde_json::to_string(&JsonValue(&value)).unwrap(), expected);
    }

    #[test]
    fn integers_and_floats_stay_apart() {
        check(Value::from(0), "0");
        check(Value::from(0.0), "0.0");
        check(Value::from(-0.0), "-0.0");
        check(Value::from(1e22), "1e+22");
        check(Value::from(5e-324), "5e-324");
        check(
            Value::from(i128::from(u64::MAX) + 1),
            "18446744073709551616",
        );
    }

    #[test]
    fn floats_that_are_no_numbers_are_texts() {
        check(
            Value::from(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
            r#"["NaN","Infinity","-Infinity"]"#,
        );
    }

    #[test]
    fn keys_keep_their_order() {
        let map = State::from_iter([("z", Value::None), ("a", Value::from(true))]);
        check(Value::Map(map), r#"{"z":null,"a":true}"#);
    }
}
