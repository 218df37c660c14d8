//! The metric that decides which epoch is the best.

use std::fmt;

use crate::class::{
    Arguments, PickleForm, by, defaulted, not_negative, python_class, slug, state_methods,
    text_enum,
};
use crate::error::Result;
use crate::number::Number;
use crate::registry::RECORD_METRICS;
use crate::repr::repr;
use crate::value::{State, Value};

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
    /// The direction in which a metric improves.
    MonitorMode {
        /// The lower one.
        Min => "min",
        /// The higher one.
        Max => "max",
    }
}

text_enum! {
    /// The reaction to an epoch whose metric is missing or not finite.
    MonitorPolicy {
        /// The epoch decides nothing, the default.
        Skip => "skip",
        /// Training stops.
        Error => "error",
    }
}

python_class! {
    class {
        /// The metric that decides which epoch is the best, and that a plateau schedule tracks.
        ///
        /// ```
        /// use nnx_params::{MonitorMode, MonitorSpec};
        ///
        /// let monitor = MonitorSpec::builder("loss").min_delta(0.01).build()?;
        /// assert_eq!(monitor.mode(), Some(MonitorMode::Min));
        /// # Ok::<(), nnx_params::Error>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        MonitorSpec { unknown: State } in "nnx.monitors";
        pickled as: PickleForm::Attributes;
        pickle order: "metric", "split", "mode", "min_delta", "on_missing", "on_nonfinite";
        state order: "metric", "split", "mode", "min_delta", "on_missing", "on_nonfinite";
    }
    fields {
        /// The metric: `loss`, `error` or the name of a declared one.
        metric: String => &str = defaulted(slug, "loss".to_owned()).always();
        /// The direction in which the metric improves; `None` leaves it to the metric.
        mode: Option<MonitorMode> => Option<MonitorMode> = by(mode),
            set MonitorMode,
            "Default: the lower one of `loss` and `error`, else what the metric says.";
        /// The data that the metric is computed on.
        split: MonitorSplit => MonitorSplit =
            defaulted(MonitorSplit::from_value, MonitorSplit::Val).always(),
            set MonitorSplit, "Default: the validation data.";
        /// The difference by which a value must beat the best one.
        min_delta: f64 => f64 = defaulted(min_delta, 0.0).always(),
            set impl Into<Number> as Number, "Default: 0.0.";
        /// The reaction to an epoch without a value.
        on_missing: MonitorPolicy => MonitorPolicy =
            defaulted(MonitorPolicy::from_value, MonitorPolicy::Skip).always(),
            set MonitorPolicy, "Default: the epoch decides nothing.";
        /// The reaction to an epoch whose value is not finite.
        on_nonfinite: MonitorPolicy => MonitorPolicy =
            defaulted(MonitorPolicy::from_value, MonitorPolicy::Skip).always(),
            set MonitorPolicy, "Default: the epoch decides nothing.";
    }
    builder {
        /// Starts from the metric: `loss`, `error` or the name of a declared one.
        MonitorSpecBuilder for MonitorSpec(metric: &str as String);
    }
}

/// Less is better for the metrics that every record has.
fn mode(arguments: &Arguments<'_>, field: &str) -> Result<Option<MonitorMode>> {
    let metric = arguments
        .given("metric")
        .map_or(Some("loss"), Value::as_str);
    let is_of_records = metric.is_some_and(|metric| RECORD_METRICS.contains(&metric));
    let given = arguments.optional(field, MonitorMode::from_value)?;
    Ok(given.or(is_of_records.then_some(MonitorMode::Min)))
}

fn min_delta(class: &'static str, field: &str, value: &Value) -> Result<f64> {
    not_negative(class, field, value).map(Number::as_f64)
}

impl MonitorSpec {
    state_methods!();

    /// Python's `key`, by which displays and logs name the monitor: split and metric, `val.loss`.
    pub fn key(&self) -> String {
        format!("{}.{}", self.split, self.metric)
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
