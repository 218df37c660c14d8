//! A reference to a registered metric.

use std::collections::HashSet;
use std::fmt;

use crate::class::{Arguments, count, defaulted, mapping, optional, slug, state_methods};
use crate::error::{Error, Result};
use crate::registry::config::freeze;
use crate::registry::registered::registered_class;
use crate::repr::repr;
use crate::value::{State, Value};

/// The metrics that every record has, so that no other one may have their names; of both, less is
/// better.
pub(crate) const RECORD_METRICS: [&str; 2] = ["loss", "error"];

registered_class! {
    class {
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
        MetricSpec { unknown: State } in "nnx.monitors";
        errors: "the metric would be reported as `loss` or `error`";
        required: &["id"];
        check: MetricSpec::check;
        read state: |known: &mut State| -> Result<()> {
            known.remove_empty("config");
            Ok(())
        };
    }
    version: defaulted(count::<1>, 1).always();
    config: defaulted(freeze, State::new());
    fields {
        /// The name given to the metric.
        name: Option<String> => Option<&str> = optional(slug);
    }
}

impl MetricSpec {
    state_methods!();

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

    fn check(self, _: &Arguments<'_>) -> Result<Self> {
        if RECORD_METRICS.contains(&self.label()) {
            let domain = "other than `loss` and `error`, which records have of their own";
            let label = Value::from(self.label());
            return Err(Error::invalid(Self::CLASS, "name", domain, &label));
        }
        Ok(self)
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
        .map(|item| MetricSpec::from_state(mapping(class, "metrics", item)?))
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
