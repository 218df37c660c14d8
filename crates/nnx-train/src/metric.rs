//! The metrics that a training declares: those that NNx registers, and those of the program.

use std::sync::Arc;

use nnx_params::{Average, Losses, MetricSpec, MonitorMode, State, TaskKind, Value};

use crate::error::{Error, Result};
use crate::metric_inputs::Domain;
use crate::metric_registry::{self as registry, Metric, MetricInput};

/// A metric that a declaration names.
#[derive(Clone, Debug)]
pub(crate) enum Declared {
    BuiltIn(Kind),
    Registered(Arc<dyn Metric>),
}

/// The built-in metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Accuracy,
    F1(F1Average),
    Nll,
    Brier,
    Mae,
    Mse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum F1Average {
    Of(Average),
    /// The F1 of the label 1.
    Binary,
}

/// Registers a metric for this process, under an id and a version: NNx's `register_metric`. A
/// [`MetricSpec`] of that id and version then declares it, in Rust or in a `run.yaml`.
///
/// ```
/// use nnx_params::{MetricSpec, MonitorMode, State};
/// use nnx_train::{Metric, MetricAccumulator, MetricBatch, MetricInput, register_metric};
///
/// /// The largest absolute error.
/// struct Worst;
///
/// impl Metric for Worst {
///     fn input(&self) -> MetricInput {
///         MetricInput::Continuous
///     }
///
///     fn mode(&self) -> MonitorMode {
///         MonitorMode::Min
///     }
///
///     fn accumulator(&self, _: &State) -> Box<dyn MetricAccumulator> {
///         Box::new(WorstSoFar(None))
///     }
/// }
///
/// struct WorstSoFar(Option<f64>);
///
/// impl MetricAccumulator for WorstSoFar {
///     fn update(&mut self, batch: &MetricBatch<'_>) {
///         if let MetricBatch::Continuous { truth, predicted } = batch {
///             let errors = truth.iter().zip(*predicted);
///             let errors = errors.map(|(truth, predicted)| f64::from((truth - predicted).abs()));
///             self.0 = errors.fold(self.0, |worst, error| Some(worst.map_or(error, |w| w.max(error))));
///         }
///     }
///
///     fn result(&self) -> Option<f64> {
///         self.0
///     }
/// }
///
/// register_metric("worst", 1, Worst)?;
/// let declared = MetricSpec::new("worst", 1, State::new(), None)?;
/// # let _ = declared;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the id is not one of letters, digits, `.`, `_` and `-`, the version is 0, or both are those of
/// a metric that is registered, built-in ones included.
pub fn register_metric(id: &str, version: usize, metric: impl Metric + 'static) -> Result<()> {
    // A declaration checks the id and the version; its name does not count.
    let spec = MetricSpec::new(id, version, State::new(), Some("metric"))?;
    if built_in(&spec).is_none() && registry::register(&spec, Arc::new(metric)) {
        return Ok(());
    }
    Err(Error::configuration(format!(
        "the metric `{id}` of version {version} is registered already: give the new one another version"
    )))
}

/// The direction in which a metric improves.
///
/// # Errors
/// When no such metric is registered.
pub(crate) fn direction(metric: &MetricSpec) -> Result<MonitorMode> {
    Ok(match declared(metric)? {
        Declared::BuiltIn(Kind::Accuracy | Kind::F1(_)) => MonitorMode::Max,
        Declared::BuiltIn(Kind::Nll | Kind::Brier | Kind::Mae | Kind::Mse) => MonitorMode::Min,
        Declared::Registered(metric) => metric.mode(),
    })
}

/// The domain of a model's outputs, by its loss or its task.
pub(crate) fn domain(loss: Losses, task: Option<TaskKind>) -> Domain {
    match (task, loss) {
        (Some(TaskKind::Multilabel), _) | (None, Losses::BinaryCrossEntropy) => Domain::Bernoulli,
        (Some(TaskKind::Regression), _) | (None, Losses::MeanSquaredError) => Domain::Continuous,
        _ => Domain::Categorical,
    }
}

/// Checks that a model can feed every metric.
///
/// # Errors
/// When a metric is not registered, its settings are not valid, or the model cannot feed it.
pub(crate) fn check(metrics: &[MetricSpec], domain: Domain, classes: Option<usize>) -> Result<()> {
    for metric in metrics {
        let label = metric.label();
        let declared = declared(metric)?;
        let is_of_numbers = match &declared {
            Declared::BuiltIn(kind) => matches!(kind, Kind::Mae | Kind::Mse),
            Declared::Registered(metric) => metric.input() == MetricInput::Continuous,
        };
        if is_of_numbers != (domain == Domain::Continuous) {
            return Err(Error::configuration(format!(
                "the metric `{label}` cannot be computed from the outputs of a model with this loss or \
                 task"
            )));
        }
        let kind = match declared {
            Declared::BuiltIn(kind) => kind,
            Declared::Registered(own) => {
                own.check(metric.config())?;
                continue;
            }
        };
        let is_binary = kind == Kind::F1(F1Average::Binary);
        if domain == Domain::Bernoulli && matches!(kind, Kind::F1(_)) && !is_binary {
            return Err(Error::configuration(format!(
                "the metric `{label}` of several labels needs the average `binary`"
            )));
        }
        if domain == Domain::Categorical && is_binary && classes.is_some_and(|n| n != 2) {
            return Err(Error::configuration(format!(
                "the metric `{label}` with the average `binary` needs two classes, the model has {}",
                classes.unwrap_or_default()
            )));
        }
    }
    Ok(())
}

/// The metric that a declaration names.
///
/// # Errors
/// When no such metric is registered, or a built-in one has settings that it does not take.
pub(crate) fn declared(metric: &MetricSpec) -> Result<Declared> {
    if let Some(kind) = built_in(metric) {
        return kind.map(Declared::BuiltIn);
    }
    registry::registered(metric)
        .map(Declared::Registered)
        .ok_or_else(|| {
            Error::configuration(format!(
                "no metric `{}` of version {} is registered, reported as `{}`",
                metric.id(),
                metric.version(),
                metric.label()
            ))
        })
}

fn built_in(metric: &MetricSpec) -> Option<Result<Kind>> {
    let kind = match (metric.id(), metric.version()) {
        ("accuracy", 1) => Kind::Accuracy,
        ("f1", 1) => return Some(f1(metric)),
        ("nll", 1) => Kind::Nll,
        ("brier", 1) => Kind::Brier,
        ("mae", 1) => Kind::Mae,
        ("mse", 1) => Kind::Mse,
        _ => return None,
    };
    Some(match metric.config().keys().next() {
        None => Ok(kind),
        Some(key) => Err(Error::configuration(format!(
            "the metric `{}` takes no settings, found `{key}`",
            metric.label()
        ))),
    })
}

fn f1(metric: &MetricSpec) -> Result<Kind> {
    if let Some(key) = metric.config().keys().find(|key| *key != "average") {
        return Err(Error::configuration(format!(
            "the metric `{}` takes `average` only, found `{key}`",
            metric.label()
        )));
    }
    let average = metric.config().get("average").map(Value::as_str);
    Ok(Kind::F1(match average {
        None | Some(Some("macro")) => F1Average::Of(Average::Macro),
        Some(Some("micro")) => F1Average::Of(Average::Micro),
        Some(Some("weighted")) => F1Average::Of(Average::Weighted),
        Some(Some("binary")) => F1Average::Binary,
        Some(_) => {
            return Err(Error::configuration(format!(
                "the average of the metric `{}` is `macro`, `micro`, `weighted` or `binary`",
                metric.label()
            )));
        }
    }))
}
