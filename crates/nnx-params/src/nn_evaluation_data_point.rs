//! The metrics of one evaluation.

mod classification;
mod mean;

use std::collections::BTreeMap;

use crate::fields::{Fields, is_wide, keeps_unknown, mapping, setters, split_state};
use crate::{Error, Number, Result, State, Value};

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
pub struct NNEvaluationDataPoint {
    f1: Option<Number>,
    recall: Option<Number>,
    accuracy: Option<Number>,
    precision: Option<Number>,
    loss: Option<Number>,
    error: Option<Number>,
    extra: BTreeMap<String, Number>,
    record: Option<TaskRecord>,
    metrics: BTreeMap<String, Number>,
    unknown: State,
}

/// What the record of a declared task adds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TaskRecord {
    kind: String,
    count: u64,
}

impl TaskRecord {
    fn status(&self) -> &'static str {
        if self.count == 0 { "empty" } else { "ok" }
    }
}

impl NNEvaluationDataPoint {
    /// The Python class.
    pub const CLASS: &'static str = "NNEvaluationDataPoint";

    /// The fields in the order of declaration, in which a pickle lists them; NNx 0.2.3 has the
    /// first seven.
    pub const FIELDS: &'static [&'static str] = &[
        "f1",
        "recall",
        "accuracy",
        "precision",
        "loss",
        "error",
        "extra",
        "kind",
        "count",
        "status",
        "metrics",
    ];

    /// Starts without any metric.
    pub fn builder() -> NNEvaluationDataPointBuilder {
        NNEvaluationDataPointBuilder {
            fields: State::new(),
        }
    }

    /// Builds from the constructor's arguments.
    ///
    /// # Errors
    ///
    /// A field is unexpected, of a wrong type or outside its domain, or the fields of a task's
    /// record do not fit each other.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        Ok(Self {
            f1: fields.optional_number("f1")?,
            recall: fields.optional_number("recall")?,
            accuracy: fields.optional_number("accuracy")?,
            precision: fields.optional_number("precision")?,
            loss: fields.optional_number("loss")?,
            error: fields.optional_number("error")?,
            extra: named_numbers(&fields, "extra")?,
            record: task_record(&fields)?,
            metrics: named_numbers(&fields, "metrics")?,
            unknown: State::new(),
        })
    }

    /// Builds from what [`state`](Self::state) returns; a missing key is `None`.
    ///
    /// # Errors
    ///
    /// A value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let (mut known, unknown) = split_state(Self::CLASS, state, &[], Self::FIELDS)?;
        for field in ["extra", "metrics"] {
            if !known.get(field).is_some_and(Value::truth) {
                known.remove(field);
            }
        }
        let mut point = Self::from_fields(&known)?;
        point.unknown = unknown;
        Ok(point)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = State::from_iter([
            ("f1", self.f1),
            ("recall", self.recall),
            ("accuracy", self.accuracy),
            ("precision", self.precision),
            ("loss", self.loss),
            ("error", self.error),
        ]);
        if !self.extra.is_empty() {
            state.insert("extra", State::from_iter(self.extra.clone()));
        }
        if let Some(record) = &self.record {
            state.insert("kind", record.kind.as_str());
            state.insert("count", record.count);
            state.insert("status", record.status());
        }
        if !self.metrics.is_empty() {
            state.insert("metrics", State::from_iter(self.metrics.clone()));
        }
        state
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown).
    pub fn full_state(&self) -> State {
        self.state().followed_by(&self.unknown)
    }

    keeps_unknown!();

    /// The F1 score, averaged over the classes.
    pub fn f1(&self) -> Option<Number> {
        self.f1
    }

    /// The recall, averaged over the classes.
    pub fn recall(&self) -> Option<Number> {
        self.recall
    }

    /// The share of right answers.
    pub fn accuracy(&self) -> Option<Number> {
        self.accuracy
    }

    /// The precision, averaged over the classes.
    pub fn precision(&self) -> Option<Number> {
        self.precision
    }

    /// The loss.
    pub fn loss(&self) -> Option<Number> {
        self.loss
    }

    /// The share of wrong answers.
    pub fn error(&self) -> Option<Number> {
        self.error
    }

    /// The user's own metrics.
    pub fn extra(&self) -> &BTreeMap<String, Number> {
        &self.extra
    }

    /// The kind of the declared task, in its records.
    pub fn kind(&self) -> Option<&str> {
        self.record.as_ref().map(|record| record.kind.as_str())
    }

    /// The number of targets that counted, in a task's records.
    pub fn count(&self) -> Option<u64> {
        self.record.as_ref().map(|record| record.count)
    }

    /// `ok`, or `empty` if no target counted, in a task's records.
    pub fn status(&self) -> Option<&'static str> {
        self.record.as_ref().map(TaskRecord::status)
    }

    /// The metrics of the declared task and the declared metrics.
    pub fn metrics(&self) -> &BTreeMap<String, Number> {
        &self.metrics
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
}

/// A mapping from names to numbers, which Python keeps sorted.
fn named_numbers(fields: &Fields<'_>, field: &str) -> Result<BTreeMap<String, Number>> {
    let class = fields.class;
    let state = fields.optional(field, |value| mapping(class, field, value))?;
    state
        .into_iter()
        .flatten()
        .map(|(name, value)| {
            let number = Number::from_value(class, &format!("{field}['{name}']"), value)?;
            Ok((name.clone(), number))
        })
        .collect()
}

fn task_record(fields: &Fields<'_>) -> Result<Option<TaskRecord>> {
    let invalid =
        |field: &str, domain: &str| Error::invalid(fields.class, field, domain, fields.get(field));
    let kind = match fields.get("kind") {
        Value::None => {
            return match ["count", "status"].map(|field| fields.get(field).is_none()) {
                [true, true] => Ok(None),
                [false, _] => Err(invalid("count", "None beside no `kind`")),
                _ => Err(invalid("status", "None beside no `kind`")),
            };
        }
        Value::Str(kind) if !kind.is_empty() => kind.clone(),
        _ => return Err(invalid("kind", "a text that is not empty")),
    };
    // A float is accepted where it is integral: a CSV file with gaps makes floats of integers.
    let count = match fields.get("count") {
        Value::Int(int) => u64::try_from(*int).ok(),
        Value::Float(float) => Number::Float(*float)
            .as_i64()
            .and_then(|int| u64::try_from(int).ok()),
        _ => None,
    };
    let count = count.ok_or_else(|| {
        let wide = match fields.get("count") {
            Value::Int(int) => is_wide(*int),
            // An integral float has 64 bits as an `i64`.
            Value::Float(float) => float.is_finite() && float.fract() == 0.0 && *float > 0.0,
            _ => false,
        };
        let domain = match wide {
            true => "an integer of at most 64 bits",
            false => "an integer >= 0",
        };
        invalid("count", domain)
    })?;
    let record = TaskRecord { kind, count };
    if fields.get("status").as_str() == Some(record.status()) {
        Ok(Some(record))
    } else {
        let domain = match record.status() {
            "ok" => "`ok` beside a `count` > 0",
            _ => "`empty` beside a `count` of 0",
        };
        Err(invalid("status", domain))
    }
}

/// Collects the fields of [`NNEvaluationDataPoint`]; see [`NNEvaluationDataPoint::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct NNEvaluationDataPointBuilder {
    fields: State,
}

impl NNEvaluationDataPointBuilder {
    setters! {
        /// The F1 score. Default: none.
        f1: impl Into<Number> as Number,
        /// The recall. Default: none.
        recall: impl Into<Number> as Number,
        /// The share of right answers. Default: none.
        accuracy: impl Into<Number> as Number,
        /// The precision. Default: none.
        precision: impl Into<Number> as Number,
        /// The loss. Default: none.
        loss: impl Into<Number> as Number,
        /// The share of wrong answers. Default: none.
        error: impl Into<Number> as Number,
    }

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
        mut self,
        field: &str,
        numbers: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let numbers = numbers
            .into_iter()
            .map(|(name, value)| (name, value.into()));
        self.fields.insert(field, State::from_iter(numbers));
        self
    }

    /// The kind of the declared task and the number of targets that counted; the status follows
    /// from it. Default: none.
    pub fn task_record(mut self, kind: &str, count: u64) -> Self {
        self.fields.insert("kind", kind);
        self.fields.insert("count", count);
        self.fields
            .insert("status", if count == 0 { "empty" } else { "ok" });
        self
    }

    /// Builds the metrics.
    ///
    /// # Errors
    ///
    /// The kind of the task is empty.
    pub fn build(self) -> Result<NNEvaluationDataPoint> {
        NNEvaluationDataPoint::from_fields(&self.fields)
    }
}
