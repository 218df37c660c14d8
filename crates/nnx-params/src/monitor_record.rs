//! The decision of a monitor after one epoch.

use crate::enums::text_enum;
use crate::fields::{Fields, keeps_unknown, mapping, split_state};
use crate::{Error, MonitorSpec, Number, Result, State, Value};

text_enum! {
    /// What a monitor saw in an epoch.
    MonitorStatus {
        /// A finite value.
        Ok => "ok",
        /// No value.
        Missing => "missing",
        /// A value that is not finite.
        Nonfinite => "nonfinite",
    }
}

/// The decision of a monitor after one epoch.
#[derive(Clone, Debug, PartialEq)]
pub struct MonitorRecord {
    monitor: MonitorSpec,
    value: Option<Number>,
    status: MonitorStatus,
    improved: bool,
    unknown: State,
}

impl MonitorRecord {
    /// The Python class.
    pub const CLASS: &'static str = "MonitorRecord";

    /// The fields in the order of declaration, in which a pickle and a state list them.
    pub const FIELDS: &'static [&'static str] = &["monitor", "value", "status", "improved"];

    /// A decision: the monitor, what it saw, and whether the epoch is the best so far.
    pub fn new(
        monitor: MonitorSpec,
        value: impl Into<Option<Number>>,
        status: MonitorStatus,
        improved: bool,
    ) -> Self {
        Self {
            monitor,
            value: value.into(),
            status,
            improved,
            unknown: State::new(),
        }
    }

    /// Builds from the constructor's arguments: an enum is its text, the monitor its state.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let monitor = mapping(Self::CLASS, "monitor", fields.required("monitor")?)?;
        let value = fields.required("value")?;
        Ok(Self::new(
            MonitorSpec::from_state(monitor)?,
            match value {
                Value::None => None,
                value => Some(Number::from_value(Self::CLASS, "value", value)?),
            },
            MonitorStatus::from_value(Self::CLASS, "status", fields.required("status")?)?,
            as_bool(fields.required("improved")?)?,
        ))
    }

    /// Builds from what [`state`](Self::state) returns; a value beside the status `missing` is
    /// dropped and any other becomes a float, as Python does.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let required = ["status", "monitor", "improved"];
        let (mut known, unknown) = split_state(Self::CLASS, state, &required, &["value"])?;
        if known.get("status").and_then(Value::as_str) == Some(MonitorStatus::Missing.value()) {
            known.remove("value");
        }
        if !known.contains_key("value") {
            known.insert("value", Value::None);
        }
        let mut record = Self::from_fields(&known)?;
        record.value = record.value.map(|value| Number::Float(value.as_f64()));
        record.unknown = unknown;
        Ok(record)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        self.state_with(self.monitor.state())
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown), the monitor's
    /// own unknown keys included.
    pub fn full_state(&self) -> State {
        self.state_with(self.monitor.full_state())
            .followed_by(&self.unknown)
    }

    fn state_with(&self, monitor: State) -> State {
        let mut state = State::from_iter([("monitor", monitor)]);
        state.insert("value", self.value);
        state.insert("status", self.status);
        state.insert("improved", self.improved);
        state
    }

    keeps_unknown!();

    /// The monitor.
    pub fn monitor(&self) -> &MonitorSpec {
        &self.monitor
    }

    /// What the monitor saw.
    pub fn value(&self) -> Option<Number> {
        self.value
    }

    /// Whether that was a finite value.
    pub fn status(&self) -> MonitorStatus {
        self.status
    }

    /// Whether the epoch is the best so far.
    pub fn improved(&self) -> bool {
        self.improved
    }
}

/// A truth value, or the text that a CSV file makes of it.
fn as_bool(value: &Value) -> Result<bool> {
    match value {
        Value::Str(text) => match text.as_str() {
            "True" | "true" | "1" => Ok(true),
            "False" | "false" | "0" => Ok(false),
            _ => Err(Error::invalid(
                MonitorRecord::CLASS,
                "improved",
                "a truth value",
                value,
            )),
        },
        value => Ok(value.truth()),
    }
}
