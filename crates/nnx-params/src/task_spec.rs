//! What a supervised model's outputs and targets mean.

use std::fmt;

use crate::enums::text_enum;
use crate::fields::{Fields, setters, split_state};
use crate::{Error, Result, State, Value};

text_enum! {
    /// The kind of a supervised task.
    TaskKind {
        /// Classes that exclude each other.
        Categorical => "categorical",
        /// Labels that are on or off independently.
        Multilabel => "multilabel",
        /// Continuous targets.
        Regression => "regression",
    }
}

/// The declaration of a supervised task.
///
/// ```
/// use nnx_params::{TaskKind, TaskSpec};
///
/// let task = TaskSpec::builder(TaskKind::Multilabel).num_outputs(3).threshold(0.25).build()?;
/// assert_eq!(task.to_string(), "multilabel[3]");
/// # Ok::<(), nnx_params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TaskSpec {
    kind: TaskKind,
    num_outputs: Option<usize>,
    ignore_index: Option<i64>,
    threshold: f64,
    labels: Option<Vec<String>>,
}

const VERSION: i128 = 1;
const DEFAULT_THRESHOLD: f64 = 0.5;

impl TaskSpec {
    /// The Python class.
    pub const CLASS: &'static str = "TaskSpec";

    /// The fields in the order of declaration, in which a pickle lists them.
    pub const FIELDS: &'static [&'static str] =
        &["kind", "num_outputs", "ignore_index", "threshold", "labels"];

    /// Starts from the kind of the task.
    pub fn builder(kind: TaskKind) -> TaskSpecBuilder {
        TaskSpecBuilder {
            fields: State::from_iter([("kind", kind)]),
        }
    }

    /// Builds from the constructor's arguments, an enum being its text.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected or outside its domain, or does not belong to the kind.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let kind = TaskKind::from_value(Self::CLASS, "kind", fields.required("kind")?)?;
        let minimum = if kind == TaskKind::Categorical { 2 } else { 1 };
        let num_outputs = fields.optional_count("num_outputs", minimum)?;
        let labels = labels(&fields, minimum, num_outputs)?;
        Ok(Self {
            kind,
            num_outputs: num_outputs.or(labels.as_ref().map(Vec::len)),
            ignore_index: ignore_index(&fields, kind)?,
            threshold: threshold(&fields, kind)?,
            labels,
        })
    }

    /// Builds from what [`state`](Self::state) returns; another version and unknown keys are
    /// refused, as Python does.
    ///
    /// # Errors
    ///
    /// The version is not 1, the kind is missing, there is an unknown key, or a value is outside
    /// its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let version = state.get("version").unwrap_or(&Value::None);
        let supported = match version {
            Value::Bool(flag) => *flag,
            Value::Int(int) => *int == VERSION,
            Value::Float(float) => *float == 1.0,
            _ => false,
        };
        if !supported {
            return Err(Error::invalid(Self::CLASS, "version", "1", version));
        }
        let (mut known, unknown) = split_state(Self::CLASS, state, &["version"], Self::FIELDS)?;
        if let Some((key, value)) = unknown.iter().next() {
            let domain = "absent, as it is no key of this class";
            return Err(Error::invalid(Self::CLASS, key, domain, value));
        }
        if !known.contains_key("kind") {
            return Err(Error::missing_key(Self::CLASS, "kind"));
        }
        known.remove("version");
        Self::from_fields(&known)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = State::new();
        state.insert("version", VERSION);
        state.insert("kind", self.kind);
        if let Some(num_outputs) = self.num_outputs {
            state.insert("num_outputs", num_outputs);
        }
        if let Some(ignore_index) = self.ignore_index {
            state.insert("ignore_index", ignore_index);
        }
        if self.threshold != DEFAULT_THRESHOLD {
            state.insert("threshold", self.threshold);
        }
        if let Some(labels) = &self.labels {
            state.insert("labels", labels.clone());
        }
        state
    }

    /// The kind of the task.
    pub fn kind(&self) -> TaskKind {
        self.kind
    }

    /// The number of classes, labels or targets; none accepts what the net gives.
    pub fn num_outputs(&self) -> Option<usize> {
        self.num_outputs
    }

    /// The target value that counts for nothing, in categorical tasks.
    pub fn ignore_index(&self) -> Option<i64> {
        self.ignore_index
    }

    /// The probability from which on a label is on, in multilabel tasks.
    pub fn threshold(&self) -> f64 {
        self.threshold
    }

    /// The names of the outputs.
    pub fn labels(&self) -> Option<&[String]> {
        self.labels.as_deref()
    }
}

fn ignore_index(fields: &Fields<'_>, kind: TaskKind) -> Result<Option<i64>> {
    fields.optional("ignore_index", |value| {
        let domain = match kind {
            TaskKind::Categorical => "an integer of at most 64 bits",
            _ => "unset in a task that is not categorical",
        };
        value
            .as_int()
            .and_then(|int| i64::try_from(int).ok())
            .filter(|_| kind == TaskKind::Categorical)
            .ok_or_else(|| Error::invalid(TaskSpec::CLASS, "ignore_index", domain, value))
    })
}

fn threshold(fields: &Fields<'_>, kind: TaskKind) -> Result<f64> {
    let Some(value) = fields.given("threshold") else {
        return Ok(DEFAULT_THRESHOLD);
    };
    let (domain, contains): (_, fn(f64) -> bool) = match kind {
        TaskKind::Multilabel => ("a number > 0 and < 1", |x| x > 0.0 && x < 1.0),
        _ => ("0.5 in a task that is not multilabel", |x| {
            x == DEFAULT_THRESHOLD
        }),
    };
    match value {
        // The integers are all outside of either domain.
        Value::Float(float) if contains(*float) => Ok(*float),
        _ => Err(Error::invalid(TaskSpec::CLASS, "threshold", domain, value)),
    }
}

fn labels(
    fields: &Fields<'_>,
    minimum: usize,
    num_outputs: Option<usize>,
) -> Result<Option<Vec<String>>> {
    fields.optional("labels", |value| {
        let invalid = |domain: String| Error::invalid(TaskSpec::CLASS, "labels", domain, value);
        let items = value
            .as_items()
            .ok_or_else(|| invalid("a list of texts".to_owned()))?;
        let mut labels: Vec<String> = Vec::with_capacity(items.len());
        for item in items {
            match item.as_str() {
                Some(label) if !label.is_empty() => labels.push(label.to_owned()),
                _ => return Err(invalid("a list of texts that are not empty".to_owned())),
            }
        }
        let mut sorted: Vec<&String> = labels.iter().collect();
        sorted.sort();
        sorted.dedup();
        if sorted.len() != labels.len() {
            return Err(invalid("a list of texts that all differ".to_owned()));
        }
        if labels.len() < minimum {
            return Err(invalid(format!("a list of at least {minimum} texts")));
        }
        match num_outputs {
            Some(count) if count != labels.len() => Err(invalid(format!(
                "a list of `num_outputs` texts, which is {count}"
            ))),
            _ => Ok(labels),
        }
    })
}

/// Writes Python's `str`.
impl fmt::Display for TaskSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.num_outputs {
            None => write!(f, "{}", self.kind),
            Some(num_outputs) => write!(f, "{}[{num_outputs}]", self.kind),
        }
    }
}

/// Collects the fields of [`TaskSpec`]; see [`TaskSpec::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct TaskSpecBuilder {
    fields: State,
}

impl TaskSpecBuilder {
    setters! {
        /// The number of classes, labels or targets. Default: what the net gives.
        num_outputs: usize as usize,
        /// The target value that counts for nothing, in categorical tasks only. Default: none.
        ignore_index: i64 as i64,
        /// The probability from which on a label is on, in multilabel tasks only. Default: 0.5.
        threshold: f64 as f64,
    }

    /// The names of the outputs. Default: none.
    pub fn labels<T: Into<String>>(mut self, labels: impl IntoIterator<Item = T>) -> Self {
        let labels: Vec<String> = labels.into_iter().map(Into::into).collect();
        self.fields.insert("labels", labels);
        self
    }

    /// Builds the declaration.
    ///
    /// # Errors
    ///
    /// As [`TaskSpec::from_fields`].
    pub fn build(self) -> Result<TaskSpec> {
        TaskSpec::from_fields(&self.fields)
    }
}
