//! The task of a supervised model: the meaning of its outputs and targets.

use std::fmt;

use crate::class::{
    Arguments, Closed, PickledValue, by, count_from, python_class, required, text_enum,
};
use crate::error::{Error, Result};
use crate::value::{State, Value};

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

python_class! {
    class {
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
        TaskSpec { closed: Closed } in "nnx.tasks";
        errors: "a field does not belong to the kind, or does not fit another one";
        pickle order: "kind", "num_outputs", "ignore_index", "threshold";
        state order: "version", "kind", "num_outputs", "ignore_index", "threshold";
        required: &["kind"];
        further keys: "version";
        check: TaskSpec::with_count_of_labels;
        read state: |known: &mut State| {
            known.remove("version");
            Ok::<_, Error>(())
        };
        amend state: |_: &TaskSpec, state: &mut State| state.insert("version", VERSION);
    }
    fields {
        /// The kind of the task.
        kind: TaskKind => TaskKind = required(TaskKind::from_value);
        /// The number of classes, labels or targets; `None` accepts any number of outputs.
        num_outputs: Option<usize> => Option<usize> = by(num_outputs).or(None),
            set usize, "Default: the number of outputs of the net.";
        /// The names of the outputs.
        labels: Option<Vec<String>> => Option<&[String]> =
            by(labels).or(None).pickled(pickled_labels),
            each impl Into<String> as String, "Default: none.";
        /// The target value that is ignored, in categorical tasks.
        ignore_index: Option<i64> => Option<i64> = by(ignore_index).or(None),
            set i64, "Default: none.";
        /// The probability from which on a label is on, in multilabel tasks.
        threshold: f64 => f64 = by(threshold).or(DEFAULT_THRESHOLD), set f64, "Default: 0.5.";
    }
    builder {
        /// Starts from the kind of the task.
        TaskSpecBuilder for TaskSpec(kind: TaskKind);
    }
}

const VERSION: i128 = 1;
const DEFAULT_THRESHOLD: f64 = 0.5;

impl TaskSpec {
    /// Builds from the result of [`state`](Self::state); another version and unknown keys are
    /// refused, as Python does.
    ///
    /// # Errors
    ///
    /// The version is not 1, the kind is missing, there is an unknown key, or a value is outside
    /// its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let version = state.get("version").unwrap_or(&Value::None);
        // Python compares with `==`, so that `True` and `1.0` are 1.
        let is_supported = match version {
            Value::Bool(flag) => *flag,
            Value::Int(int) => *int == VERSION,
            Value::Float(float) => *float == 1.0,
            _ => false,
        };
        if !is_supported {
            return Err(Error::invalid(Self::CLASS, "version", "1", version));
        }
        crate::class::from_state(state)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        crate::class::state_of(self, false)
    }

    /// Without a number of outputs, it is that of the labels.
    fn with_count_of_labels(mut self, _: &Arguments<'_>) -> Result<Self> {
        let count = self.labels.as_ref().map(Vec::len);
        self.num_outputs = self.num_outputs.or(count);
        Ok(self)
    }
}

/// The kind, which was read before the fields that depend on it.
fn kind(arguments: &Arguments<'_>) -> Result<TaskKind> {
    TaskKind::from_value(arguments.class, "kind", arguments.get("kind"))
}

/// The fewest outputs that a task of the kind can have.
fn minimum(arguments: &Arguments<'_>) -> Result<usize> {
    Ok(if kind(arguments)? == TaskKind::Categorical {
        2
    } else {
        1
    })
}

fn num_outputs(arguments: &Arguments<'_>, field: &str) -> Result<Option<usize>> {
    let minimum = minimum(arguments)?;
    arguments.optional(field, |class, field, value| {
        count_from(class, field, value, minimum)
    })
}

fn ignore_index(arguments: &Arguments<'_>, field: &str) -> Result<Option<i64>> {
    let is_categorical = kind(arguments)? == TaskKind::Categorical;
    arguments.optional(field, |class, field, value| {
        let domain = if is_categorical {
            "an integer of at most 64 bits"
        } else {
            "unset in a task that is not categorical"
        };
        value
            .as_int()
            .and_then(|int| i64::try_from(int).ok())
            .filter(|_| is_categorical)
            .ok_or_else(|| Error::invalid(class, field, domain, value))
    })
}

fn threshold(arguments: &Arguments<'_>, field: &str) -> Result<f64> {
    let (domain, contains): (_, fn(f64) -> bool) = match kind(arguments)? {
        TaskKind::Multilabel => ("a number > 0 and < 1", |x| x > 0.0 && x < 1.0),
        _ => ("0.5 in a task that is not multilabel", |x| {
            x == DEFAULT_THRESHOLD
        }),
    };
    match arguments.get(field) {
        // The integers are all outside of either domain.
        Value::Float(float) if contains(*float) => Ok(*float),
        _ => Err(arguments.invalid(field, domain)),
    }
}

fn labels(arguments: &Arguments<'_>, field: &str) -> Result<Option<Vec<String>>> {
    let minimum = minimum(arguments)?;
    let num_outputs = num_outputs(arguments, "num_outputs")?;
    arguments.optional(field, |class, field, value| {
        let invalid = |domain: String| Error::invalid(class, field, domain, value);
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

/// Python makes a tuple of the labels and leaves the texts as they were given.
fn pickled_labels(labels: &Option<Vec<String>>) -> PickledValue {
    match labels {
        None => PickledValue::Plain(Value::None),
        Some(labels) => {
            let texts = labels.iter().cloned().map(PickledValue::Text);
            PickledValue::Tuple(texts.collect())
        }
    }
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
