//! A reference to a registered metric.

use std::collections::HashSet;

use std::fmt;

use crate::fields::{self, Fields, keeps_unknown, split_state};
use crate::monitor_spec::RECORD_FIELDS;
use crate::python_text::repr;
use crate::{Error, Result, State, Value, config};

/// A reference to a metric that a Python program registered, and the name it is reported under.
///
/// ```
/// use nnx_params::{MetricSpec, State};
///
/// let metric = MetricSpec::new("f1", 1, State::from_iter([("average", "micro")]), Some("f1m"))?;
/// assert_eq!(metric.label(), "f1m");
/// # Ok::<(), nnx_params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricSpec {
    id: String,
    version: usize,
    config: State,
    name: Option<String>,
    unknown: State,
}

impl MetricSpec {
    /// The Python class.
    pub const CLASS: &'static str = "MetricSpec";

    /// The constructor's arguments, in the order in which a pickle lists them.
    pub const FIELDS: &'static [&'static str] = &["id", "version", "config", "name"];

    /// A reference to version `version` of metric `id`, reported under `name` or else its id.
    ///
    /// # Errors
    ///
    /// The id or the name is not made of letters, digits, `.`, `_` and `-`; the metric would be
    /// reported as `loss` or `error`; the version is 0; or the configuration holds a float that
    /// is not finite.
    pub fn new(id: &str, version: usize, config: State, name: Option<&str>) -> Result<Self> {
        let mut fields = State::from_iter([("id", id)]);
        fields.insert("version", version);
        fields.insert("config", config);
        fields.insert("name", name);
        Self::from_fields(&fields)
    }

    /// Builds from the constructor's arguments.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let metric = Self {
            id: fields::slug(Self::CLASS, "id", fields.required("id")?)?,
            version: fields.count_or("version", 1, 1)?,
            config: config::freeze(Self::CLASS, fields.get("config"))?,
            name: fields.optional("name", |value| fields::slug(Self::CLASS, "name", value))?,
            unknown: State::new(),
        };
        if RECORD_FIELDS.contains(&metric.label()) {
            let domain = "other than `loss` and `error`, which records have of their own";
            let label = Value::from(metric.label());
            return Err(Error::invalid(Self::CLASS, "name", domain, &label));
        }
        Ok(metric)
    }

    /// Builds from what [`state`](Self::state) returns.
    ///
    /// # Errors
    ///
    /// The id is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let (mut known, unknown) = split_state(Self::CLASS, state, &["id"], Self::FIELDS)?;
        if !known.get("config").is_some_and(Value::truth) {
            known.remove("config");
        }
        let mut metric = Self::from_fields(&known)?;
        metric.unknown = unknown;
        Ok(metric)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = State::from_iter([("id", self.id.as_str())]);
        state.insert("version", self.version);
        if !self.config.is_empty() {
            state.insert("config", self.config.clone());
        }
        if let Some(name) = &self.name {
            state.insert("name", name.as_str());
        }
        state
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown).
    pub fn full_state(&self) -> State {
        self.state().followed_by(&self.unknown)
    }

    keeps_unknown!();

    /// The name that the metric is registered under.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The version of the metric.
    pub fn version(&self) -> usize {
        self.version
    }

    /// The options of the metric, keys sorted.
    pub fn config(&self) -> &State {
        &self.config
    }

    /// The name given to the metric.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The name that the metric is reported under.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }
}

/// Writes Python's `str`.
impl fmt::Display for MetricSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = repr(&self.id.as_str().into());
        write!(f, "MetricSpec({id}, version={}", self.version)?;
        if !self.config.is_empty() {
            write!(f, ", config={}", repr(&self.config.clone().into()))?;
        }
        if let Some(name) = &self.name {
            write!(f, ", name={}", repr(&name.as_str().into()))?;
        }
        f.write_str(")")
    }
}

/// Reads the metrics of a training state, where none may be written as null.
pub(crate) fn metrics_of(class: &'static str, value: &Value) -> Result<Vec<MetricSpec>> {
    let items = value
        .as_items()
        .ok_or_else(|| Error::wrong_type(class, "metrics", "a list", value))?;
    items
        .iter()
        .map(|item| MetricSpec::from_state(fields::mapping(class, "metrics", item)?))
        .collect()
}

/// Checks that no two metrics are reported under one name.
pub(crate) fn check_unique(class: &'static str, metrics: &[MetricSpec]) -> Result<()> {
    let mut labels = HashSet::new();
    for metric in metrics {
        if !labels.insert(metric.label()) {
            let domain = "a list of metrics that all have names of their own";
            let found = format!("`{}` twice", metric.label());
            return Err(Error::inconsistent(class, "metrics", domain, found));
        }
    }
    Ok(())
}
