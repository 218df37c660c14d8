//! The metrics that a training declares: those that NNx registers.

use nnx_params::{
    Average, Labels, Losses, MetricSpec, MonitorMode, NNEvaluationDataPoint, TaskKind, Value,
};

use crate::error::{Error, Result};
use crate::metric_inputs::{Domain, MetricInputs, Predictions};

/// The metrics by their registered names, with what they are computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Accuracy,
    F1(F1Average),
    Nll,
    Brier,
    Mae,
    Mse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum F1Average {
    Of(Average),
    /// The F1 of the label 1.
    Binary,
}

/// The direction in which a metric improves.
///
/// # Errors
/// When no such metric is registered.
pub(crate) fn direction(metric: &MetricSpec) -> Result<MonitorMode> {
    Ok(match kind(metric)? {
        Kind::Accuracy | Kind::F1(_) => MonitorMode::Max,
        Kind::Nll | Kind::Brier | Kind::Mae | Kind::Mse => MonitorMode::Min,
    })
}

/// What the outputs of a model with that loss or task are.
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
        let kind = kind(metric)?;
        let is_fed = match kind {
            Kind::Mae | Kind::Mse => domain == Domain::Continuous,
            _ => domain != Domain::Continuous,
        };
        if !is_fed {
            return Err(Error::configuration(format!(
                "the metric `{label}` cannot be computed from the outputs of a model with this loss or \
                 task"
            )));
        }
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

fn kind(metric: &MetricSpec) -> Result<Kind> {
    let kind = match (metric.id(), metric.version()) {
        ("accuracy", 1) => Kind::Accuracy,
        ("f1", 1) => return f1(metric),
        ("nll", 1) => Kind::Nll,
        ("brier", 1) => Kind::Brier,
        ("mae", 1) => Kind::Mae,
        ("mse", 1) => Kind::Mse,
        (id, version) => {
            return Err(Error::configuration(format!(
                "no metric `{id}` of version {version} is registered, reported as `{}`",
                metric.label()
            )));
        }
    };
    match metric.config().keys().next() {
        None => Ok(kind),
        Some(key) => Err(Error::configuration(format!(
            "the metric `{}` takes no settings, found `{key}`",
            metric.label()
        ))),
    }
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

/// The declared metrics over the samples of one split of one epoch.
#[derive(Debug)]
pub(crate) struct MetricSet(Vec<(String, Accumulator)>);

#[derive(Debug)]
enum Accumulator {
    Mean {
        kind: Kind,
        sum: f64,
        count: usize,
    },
    F1 {
        average: F1Average,
        truth: Vec<i64>,
        predicted: Vec<i64>,
    },
}

impl MetricSet {
    /// # Errors
    /// When a metric is not registered.
    pub(crate) fn new(metrics: &[MetricSpec]) -> Result<Self> {
        let accumulators = metrics.iter().map(|metric| {
            let accumulator = match kind(metric)? {
                Kind::F1(average) => Accumulator::F1 {
                    average,
                    truth: Vec::new(),
                    predicted: Vec::new(),
                },
                kind => Accumulator::Mean {
                    kind,
                    sum: 0.0,
                    count: 0,
                },
            };
            Ok((metric.label().to_owned(), accumulator))
        });
        accumulators.collect::<Result<_>>().map(Self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Counts the samples of a batch.
    pub(crate) fn add(&mut self, inputs: &MetricInputs) {
        for (_, accumulator) in &mut self.0 {
            match accumulator {
                Accumulator::Mean { kind, sum, count } => {
                    let terms = terms(*kind, inputs);
                    *count += terms.len();
                    *sum += terms.iter().sum::<f64>();
                }
                Accumulator::F1 {
                    truth, predicted, ..
                } => {
                    truth.extend_from_slice(&inputs.classes);
                    predicted.extend_from_slice(&inputs.labels);
                }
            }
        }
    }

    /// The metrics that have a value.
    ///
    /// # Errors
    /// When labels cannot be scored.
    pub(crate) fn results(&self) -> Result<Vec<(String, f64)>> {
        let mut results = Vec::new();
        for (label, accumulator) in &self.0 {
            let value = match accumulator {
                Accumulator::Mean { count: 0, .. } => None,
                Accumulator::Mean { sum, count, .. } => Some(sum / *count as f64),
                Accumulator::F1 { truth, .. } if truth.is_empty() => None,
                Accumulator::F1 {
                    average,
                    truth,
                    predicted,
                } => Some(f1_of(*average, truth, predicted)?),
            };
            results.extend(value.map(|value| (label.clone(), value)));
        }
        Ok(results)
    }
}

fn f1_of(average: F1Average, truth: &[i64], predicted: &[i64]) -> Result<f64> {
    let average = match average {
        F1Average::Of(average) => average,
        F1Average::Binary => {
            let count = |wanted: (bool, bool)| {
                let pairs = truth.iter().zip(predicted);
                let pairs =
                    pairs.filter(|(truth, predicted)| (**truth == 1, **predicted == 1) == wanted);
                pairs.count() as f64
            };
            let right = 2.0 * count((true, true));
            let all = right + count((false, true)) + count((true, false));
            return Ok(if all == 0.0 { 0.0 } else { right / all });
        }
    };
    let (truth, predicted) = (truth.to_vec(), predicted.to_vec());
    let point = NNEvaluationDataPoint::of(
        &Labels::Classes(truth),
        &Labels::Classes(predicted),
        average,
    )?;
    Ok(point.f1().map_or(0.0, |f1| f1.as_f64()))
}

/// Probabilities are not taken to be smaller than this.
const NLL_EPSILON: f64 = 1e-12;

/// The terms whose mean a metric is, in float64.
fn terms(kind: Kind, inputs: &MetricInputs) -> Vec<f64> {
    let bounded = |p: f64| p.clamp(NLL_EPSILON, 1.0).ln();
    match (kind, &inputs.predictions) {
        (Kind::Accuracy, _) => {
            let pairs = inputs.classes.iter().zip(&inputs.labels);
            pairs
                .map(|(truth, label)| f64::from(u8::from(truth == label)))
                .collect()
        }
        (Kind::Nll, Predictions::Rows { width, values }) => rows(inputs, *width, values)
            .map(|(class, row)| -bounded(row.get(class).copied().map_or(f64::NAN, f64::from)))
            .collect(),
        (Kind::Brier, Predictions::Rows { width, values }) => rows(inputs, *width, values)
            .map(|(class, row)| {
                let terms = row.iter().enumerate().map(|(at, p)| {
                    let error = f64::from(*p) - if at == class { 1.0 } else { 0.0 };
                    error * error
                });
                terms.sum()
            })
            .collect(),
        (Kind::Nll, Predictions::Elements(values)) => inputs
            .classes
            .iter()
            .zip(values)
            .map(|(class, p)| {
                let (t, p) = (if *class == 1 { 1.0 } else { 0.0 }, f64::from(*p));
                -(t * bounded(p) + (1.0 - t) * bounded(1.0 - p))
            })
            .collect(),
        (_, Predictions::Elements(values)) => {
            let truth: Vec<f64> = if inputs.numbers.is_empty() {
                let truth = inputs.classes.iter();
                truth
                    .map(|class| if *class == 1 { 1.0 } else { 0.0 })
                    .collect()
            } else {
                inputs
                    .numbers
                    .iter()
                    .map(|number| f64::from(*number))
                    .collect()
            };
            let differences = truth
                .into_iter()
                .zip(values)
                .map(|(truth, value)| f64::from(*value) - truth);
            match kind {
                Kind::Mae => differences.map(f64::abs).collect(),
                _ => differences
                    .map(|difference| difference * difference)
                    .collect(),
            }
        }
        _ => Vec::new(),
    }
}

/// Each row of probabilities with its true class.
fn rows<'a>(
    inputs: &'a MetricInputs,
    width: usize,
    values: &'a [f32],
) -> impl Iterator<Item = (usize, &'a [f32])> {
    let classes = inputs.classes.iter();
    let classes = classes.map(|class| usize::try_from(*class).unwrap_or(usize::MAX));
    classes.zip(values.chunks_exact(width.max(1)))
}
