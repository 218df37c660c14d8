//! What the choice of the best epoch tracks.

use std::fmt;

use crate::enums::text_enum;
use crate::fields::{self, Fields, NOT_NEGATIVE, keeps_unknown, setters, split_state};
use crate::python_text::repr;
use crate::{Number, Result, State};

text_enum! {
    /// The data that a monitored metric is computed on.
    MonitorSplit {
        /// The validation data, the default.
        Val => "val",
        /// The training data of the whole epoch.
        Train => "train",
    }
}

text_enum! {
    /// Which of two values of a metric is better.
    MonitorMode {
        /// The lower one.
        Min => "min",
        /// The higher one.
        Max => "max",
    }
}

text_enum! {
    /// What happens in an epoch whose metric is missing or not finite.
    MonitorPolicy {
        /// The epoch decides nothing, the default.
        Skip => "skip",
        /// Training stops.
        Error => "error",
    }
}

/// What the choice of the best epoch and a plateau schedule track.
///
/// ```
/// use nnx_params::{MonitorMode, MonitorSpec};
///
/// let monitor = MonitorSpec::builder("loss").min_delta(0.01).build()?;
/// assert_eq!(monitor.mode(), Some(MonitorMode::Min));
/// # Ok::<(), nnx_params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MonitorSpec {
    metric: String,
    split: MonitorSplit,
    mode: Option<MonitorMode>,
    min_delta: f64,
    on_missing: MonitorPolicy,
    on_nonfinite: MonitorPolicy,
    unknown: State,
}

/// The fields of a record that a monitor may name without a declaration; less is better in both.
pub(crate) const RECORD_FIELDS: [&str; 2] = ["loss", "error"];

impl MonitorSpec {
    /// The Python class.
    pub const CLASS: &'static str = "MonitorSpec";

    /// The fields in the order of declaration, in which a pickle and a state list them.
    pub const FIELDS: &'static [&'static str] = &[
        "metric",
        "split",
        "mode",
        "min_delta",
        "on_missing",
        "on_nonfinite",
    ];

    /// Starts from the metric: `loss`, `error` or the name of a declared one.
    pub fn builder(metric: &str) -> MonitorSpecBuilder {
        MonitorSpecBuilder {
            fields: State::from_iter([("metric", metric)]),
        }
    }

    /// Builds from the constructor's arguments, an enum being its text.
    ///
    /// # Errors
    ///
    /// A field is unexpected, of a wrong type or outside its domain.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let metric = match fields.given("metric") {
            None => "loss".to_owned(),
            Some(value) => fields::slug(Self::CLASS, "metric", value)?,
        };
        let mode = fields.optional("mode", |value| {
            MonitorMode::from_value(Self::CLASS, "mode", value)
        })?;
        let natural = RECORD_FIELDS.contains(&metric.as_str());
        let policy = |field: &str| {
            fields
                .given(field)
                .map_or(Ok(MonitorPolicy::Skip), |value| {
                    MonitorPolicy::from_value(Self::CLASS, field, value)
                })
        };
        Ok(Self {
            metric,
            split: fields
                .given("split")
                .map_or(Ok(MonitorSplit::Val), |value| {
                    MonitorSplit::from_value(Self::CLASS, "split", value)
                })?,
            mode: mode.or(natural.then_some(MonitorMode::Min)),
            min_delta: fields.finite_or("min_delta", &NOT_NEGATIVE, 0.0)?.as_f64(),
            on_missing: policy("on_missing")?,
            on_nonfinite: policy("on_nonfinite")?,
            unknown: State::new(),
        })
    }

    /// Builds from what [`state`](Self::state) returns; a missing key takes its default.
    ///
    /// # Errors
    ///
    /// A value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let (known, unknown) = split_state(Self::CLASS, state, &[], Self::FIELDS)?;
        let mut monitor = Self::from_fields(&known)?;
        monitor.unknown = unknown;
        Ok(monitor)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = State::from_iter([("metric", self.metric.as_str())]);
        state.insert("split", self.split);
        state.insert("mode", self.mode);
        state.insert("min_delta", self.min_delta);
        state.insert("on_missing", self.on_missing);
        state.insert("on_nonfinite", self.on_nonfinite);
        state
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown).
    pub fn full_state(&self) -> State {
        self.state().followed_by(&self.unknown)
    }

    keeps_unknown!();

    /// The metric: `loss`, `error` or the name of a declared one.
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// Python's `key`, by which displays and logs name the monitor: split and metric, `val.loss`.
    pub fn key(&self) -> String {
        format!("{}.{}", self.split, self.metric)
    }

    /// The data that the metric is computed on.
    pub fn split(&self) -> MonitorSplit {
        self.split
    }

    /// Which of two values is better; none leaves it to the metric.
    pub fn mode(&self) -> Option<MonitorMode> {
        self.mode
    }

    /// What a value must beat the best one by.
    pub fn min_delta(&self) -> f64 {
        self.min_delta
    }

    /// What happens in an epoch without a value.
    pub fn on_missing(&self) -> MonitorPolicy {
        self.on_missing
    }

    /// What happens in an epoch whose value is not finite.
    pub fn on_nonfinite(&self) -> MonitorPolicy {
        self.on_nonfinite
    }
}

/// Writes Python's `str`.
impl fmt::Display for MonitorSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MonitorSpec(")?;
        for (index, (field, value)) in self.state().iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{field}={}", repr(value))?;
        }
        f.write_str(")")
    }
}

/// Collects the fields of [`MonitorSpec`]; see [`MonitorSpec::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct MonitorSpecBuilder {
    fields: State,
}

impl MonitorSpecBuilder {
    setters! {
        /// The data that the metric is computed on. Default: the validation data.
        split: MonitorSplit as MonitorSplit,
        /// Which of two values is better. Default: the lower one of loss and error, else what the
        /// metric says.
        mode: MonitorMode as MonitorMode,
        /// What a value must beat the best one by. Default: 0.0.
        min_delta: impl Into<Number> as Number,
        /// What happens in an epoch without a value. Default: it decides nothing.
        on_missing: MonitorPolicy as MonitorPolicy,
        /// What happens in an epoch whose value is not finite. Default: it decides nothing.
        on_nonfinite: MonitorPolicy as MonitorPolicy,
    }

    /// Builds the monitor.
    ///
    /// # Errors
    ///
    /// As [`MonitorSpec::from_fields`].
    pub fn build(self) -> Result<MonitorSpec> {
        MonitorSpec::from_fields(&self.fields)
    }
}
