//! The metrics of one evaluation.

mod classification;
mod mean;

use std::collections::BTreeMap;

use crate::class::{
    Arguments, by, defaulted, is_wide, mapping, number, optional, python_class, state_methods,
};
use crate::error::Result;
use crate::number::Number;
use crate::value::{State, Value};

python_class! {
    class {
        /// The metrics of one batch or one epoch.
        ///
        /// ```
        /// use nnx_params::NNEvaluationDataPoint;
        ///
        /// let point = NNEvaluationDataPoint::builder().loss(0.25).error(0.5).build()?;
        /// assert_eq!(point.with_extra("auc", 0.9).extra().len(), 1);
        /// # Ok::<(), nnx_params::Error>(())
        /// ```
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        NNEvaluationDataPoint { unknown: State } in "nnx.nn.params.nn_evaluation_data_point";
        errors: "the fields of a task's record do not fit each other";
        read state: |known: &mut State| -> Result<()> {
            known.remove_empty("extra");
            known.remove_empty("metrics");
            Ok(())
        };
    }
    fields {
        /// The F1 score, averaged over the classes.
        f1: Option<Number> => Option<Number> = optional(number).always(),
            set impl Into<Number> as Number, "Default: none.";
        /// The recall, averaged over the classes.
        recall: Option<Number> => Option<Number> = optional(number).always(),
            set impl Into<Number> as Number, "Default: none.";
        /// The share of right answers.
        accuracy: Option<Number> => Option<Number> = optional(number).always(),
            set impl Into<Number> as Number, "Default: none.";
        /// The precision, averaged over the classes.
        precision: Option<Number> => Option<Number> = optional(number).always(),
            set impl Into<Number> as Number, "Default: none.";
        /// The loss.
        loss: Option<Number> => Option<Number> = optional(number).always(),
            set impl Into<Number> as Number, "Default: none.";
        /// The share of wrong answers.
        error: Option<Number> => Option<Number> = optional(number).always(),
            set impl Into<Number> as Number, "Default: none.";
        /// The user's own metrics.
        extra: BTreeMap<String, Number> => &BTreeMap<String, Number> =
            defaulted(named_numbers, BTreeMap::new());
        /// The kind of the declared task, in its records.
        kind: Option<String> => Option<&str> = by(kind).or(None);
        /// The number of targets that counted, in a task's records.
        count: Option<u64> => Option<u64> = by(count).written_if(Option::is_some);
        status: Option<String> = by(status).written_if(Option::is_some);
        /// The metrics of the declared task and the declared metrics.
        metrics: BTreeMap<String, Number> => &BTreeMap<String, Number> =
            defaulted(named_numbers, BTreeMap::new());
    }
    builder {
        /// Starts without any metric.
        NNEvaluationDataPointBuilder for NNEvaluationDataPoint();
    }
}

impl NNEvaluationDataPoint {
    state_methods!();

    /// `ok`, or `empty` if no target counted, in a task's records.
    pub fn status(&self) -> Option<&'static str> {
        self.count.map(status_of)
    }

    /// The same metrics with another loss.
    #[must_use]
    pub fn with_loss(mut self, loss: impl Into<Number>) -> Self {
        self.loss = Some(loss.into());
        self
    }

    /// The same metrics with another error.
    #[must_use]
    pub fn with_error(mut self, error: impl Into<Number>) -> Self {
        self.error = Some(error.into());
        self
    }

    /// The same metrics and one of the user's own, replacing one of the same name.
    #[must_use]
    pub fn with_extra(mut self, name: &str, value: f64) -> Self {
        self.extra.insert(name.to_owned(), Number::Float(value));
        self
    }

    /// The same metrics with one more in `metrics`.
    #[must_use]
    pub fn with_metric(mut self, name: &str, value: f64) -> Self {
        self.metrics.insert(name.to_owned(), Number::Float(value));
        self
    }
}

/// A mapping from names to numbers, which Python keeps sorted; `None` is an empty one.
fn named_numbers(
    class: &'static str,
    field: &str,
    value: &Value,
) -> Result<BTreeMap<String, Number>> {
    if value.is_none() {
        return Ok(BTreeMap::new());
    }
    mapping(class, field, value)?
        .iter()
        .map(|(name, value)| {
            let number = Number::from_value(class, &format!("{field}['{name}']"), value)?;
            Ok((name.to_owned(), number))
        })
        .collect()
}

fn kind(arguments: &Arguments<'_>, field: &str) -> Result<Option<String>> {
    match arguments.get(field) {
        Value::None => Ok(None),
        Value::Str(kind) if !kind.is_empty() => Ok(Some(kind.clone())),
        _ => Err(arguments.invalid(field, "a text that is not empty")),
    }
}

fn count(arguments: &Arguments<'_>, field: &str) -> Result<Option<u64>> {
    let given = arguments.get(field);
    if arguments.get("kind").is_none() {
        return none_without_kind(arguments, field);
    }
    // A float is accepted where it is integral: a CSV file with gaps makes floats of integers.
    let count = match given {
        Value::Int(int) => u64::try_from(*int).ok(),
        Value::Float(float) => Number::Float(*float)
            .as_i64()
            .and_then(|int| u64::try_from(int).ok()),
        _ => None,
    };
    if count.is_some() {
        return Ok(count);
    }
    let wide = match given {
        Value::Int(int) => is_wide(*int),
        // An integral float has 64 bits as an `i64`.
        Value::Float(float) => float.is_finite() && float.fract() == 0.0 && *float > 0.0,
        _ => false,
    };
    let domain = if wide {
        "an integer of at most 64 bits"
    } else {
        "an integer >= 0"
    };
    Err(arguments.invalid(field, domain))
}

fn status(arguments: &Arguments<'_>, field: &str) -> Result<Option<String>> {
    let Some(count) = count(arguments, "count")? else {
        return none_without_kind(arguments, field);
    };
    let status = status_of(count);
    if arguments.get(field).as_str() == Some(status) {
        return Ok(Some(status.to_owned()));
    }
    let domain = match status {
        "ok" => "`ok` beside a `count` > 0",
        _ => "`empty` beside a `count` of 0",
    };
    Err(arguments.invalid(field, domain))
}

/// A field of a task's record, in a record of no task.
fn none_without_kind<T>(arguments: &Arguments<'_>, field: &str) -> Result<Option<T>> {
    if arguments.get(field).is_none() {
        Ok(None)
    } else {
        Err(arguments.invalid(field, "None beside no `kind`"))
    }
}

fn status_of(count: u64) -> &'static str {
    if count == 0 { "empty" } else { "ok" }
}

impl NNEvaluationDataPointBuilder {
    /// The user's own metrics. Default: none.
    pub fn extra<K: Into<String>, V: Into<Number>>(
        self,
        extra: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.named("extra", extra)
    }

    /// The metrics of the declared task and the declared metrics. Default: none.
    pub fn metrics<K: Into<String>, V: Into<Number>>(
        self,
        metrics: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.named("metrics", metrics)
    }

    fn named<K: Into<String>, V: Into<Number>>(
        self,
        field: &str,
        numbers: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let numbers = numbers
            .into_iter()
            .map(|(name, value)| (name, value.into()));
        self.with(field, &State::from_iter(numbers))
    }

    /// The kind of the declared task and the number of targets that counted; the status follows
    /// from it. Default: none.
    pub fn task_record(self, kind: &str, count: u64) -> Self {
        self.with("kind", &kind.to_owned())
            .with("count", &count)
            .with("status", &status_of(count).to_owned())
    }
}
