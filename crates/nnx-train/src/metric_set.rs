//! The declared metrics over an epoch.

use nnx_params::{Labels, MetricSpec, NNEvaluationDataPoint};

use crate::error::Result;
use crate::metric::{Declared, F1Average, Kind, declared};
use crate::metric_inputs::{MetricInputs, Predictions};
use crate::metric_registry::{MetricAccumulator, MetricBatch, MetricInput};

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
    Registered {
        input: MetricInput,
        accumulator: Box<dyn MetricAccumulator>,
    },
}

impl MetricSet {
    /// # Errors
    /// When a metric is not registered.
    pub(crate) fn new(metrics: &[MetricSpec]) -> Result<Self> {
        let accumulators = metrics.iter().map(|metric| {
            let accumulator = match declared(metric)? {
                Declared::BuiltIn(Kind::F1(average)) => Accumulator::F1 {
                    average,
                    truth: Vec::new(),
                    predicted: Vec::new(),
                },
                Declared::BuiltIn(kind) => Accumulator::Mean {
                    kind,
                    sum: 0.0,
                    count: 0,
                },
                Declared::Registered(own) => Accumulator::Registered {
                    input: own.input(),
                    accumulator: own.accumulator(metric.config()),
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
                Accumulator::Registered { input, accumulator } => {
                    accumulator.update(&batch(*input, inputs));
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
                Accumulator::Registered { accumulator, .. } => accumulator.result(),
            };
            results.extend(value.map(|value| (label.clone(), value)));
        }
        Ok(results)
    }
}

/// The samples of a batch as a registered metric asks for them.
fn batch(input: MetricInput, inputs: &MetricInputs) -> MetricBatch<'_> {
    let truth = inputs.classes.as_slice();
    match (input, &inputs.predictions) {
        (MetricInput::Labels, _) => MetricBatch::Labels {
            truth,
            predicted: &inputs.labels,
        },
        (MetricInput::Continuous, Predictions::Elements(values)) => MetricBatch::Continuous {
            truth: &inputs.numbers,
            predicted: values,
        },
        (_, Predictions::Rows { width, values }) => MetricBatch::Classes {
            truth,
            width: *width,
            values,
        },
        (_, Predictions::Elements(values)) => MetricBatch::Probabilities { truth, values },
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
