//! The decision of a monitor after one epoch.

use crate::class::{
    Arguments, PickleForm, by, object, python_class, required, state_methods, text_enum,
};
use crate::error::{Error, Result};
use crate::number::Number;
use crate::record::monitor_spec::MonitorSpec;
use crate::value::{State, Value};

text_enum! {
    /// The value that a monitor found in an epoch.
    MonitorStatus {
        /// A finite value.
        Ok => "ok",
        /// No value.
        Missing => "missing",
        /// A value that is not finite.
        Nonfinite => "nonfinite",
    }
}

python_class! {
    class {
        /// The decision of a monitor after one epoch.
        #[derive(Clone, Debug, PartialEq)]
        MonitorRecord { unknown: State } in "nnx.monitors";
        pickled as: PickleForm::Attributes;
        required: &["status", "monitor", "improved"];
        read state: read_state;
    }
    fields {
        /// The monitor.
        monitor: MonitorSpec => &MonitorSpec = required(object);
        /// The value of the metric.
        value: Option<Number> => Option<Number> = by(value);
        /// Whether the value was finite.
        status: MonitorStatus => MonitorStatus = required(MonitorStatus::from_value);
        /// Whether the epoch is the best so far.
        improved: bool => bool = required(csv_truth);
    }
}

impl MonitorRecord {
    state_methods!();

    /// A decision: the monitor, the value of its metric, and whether the epoch is the best so far.
    pub fn new(
        monitor: MonitorSpec,
        value: impl Into<Option<Number>>,
        status: MonitorStatus,
        improved: bool,
    ) -> Self {
        Self {
            unknown: State::new(),
            monitor,
            value: value.into(),
            status,
            improved,
        }
    }
}

/// A number or `None`, one of which must be given.
fn value(arguments: &Arguments<'_>, field: &str) -> Result<Option<Number>> {
    arguments.required(field)?;
    arguments.optional(field, Number::from_value)
}

/// Drops a value beside the status `missing` and makes a float of any other, as Python does.
fn read_state(known: &mut State) -> Result<()> {
    let is_missing =
        known.get("status").and_then(Value::as_str) == Some(MonitorStatus::Missing.value());
    let value = match known.get("value") {
        None | Some(Value::None) => Value::None,
        Some(_) if is_missing => Value::None,
        Some(value) => Number::from_value(MonitorRecord::CLASS, "value", value)?
            .as_f64()
            .into(),
    };
    known.insert("value", value);
    Ok(())
}

/// A truth value, or the text that a CSV file makes of it.
fn csv_truth(class: &'static str, field: &str, value: &Value) -> Result<bool> {
    match value {
        Value::Str(text) => match text.as_str() {
            "True" | "true" | "1" => Ok(true),
            "False" | "false" | "0" => Ok(false),
            _ => Err(Error::invalid(class, field, "a truth value", value)),
        },
        value => Ok(value.truth()),
    }
}
