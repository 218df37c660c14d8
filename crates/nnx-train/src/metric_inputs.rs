//! The inputs of declared metrics.

use candle_core::{DType, Tensor};
use nnx_net::IGNORE_INDEX;

use crate::error::Result;

/// The domain of a model's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Domain {
    /// One of several classes.
    Categorical,
    /// Each output is a label or not.
    Bernoulli,
    /// Numbers.
    Continuous,
}

/// The samples of a batch that count, as metrics need them.
#[derive(Debug)]
pub(crate) struct MetricInputs {
    /// True classes, or 1 for a label that is true.
    pub(crate) classes: Vec<i64>,
    /// Predicted classes or labels.
    pub(crate) labels: Vec<i64>,
    /// True numbers; empty where there are classes.
    pub(crate) numbers: Vec<f32>,
    pub(crate) predictions: Predictions,
}

/// Predicted probabilities or numbers.
#[derive(Debug)]
pub(crate) enum Predictions {
    /// A probability of each class for each sample.
    Rows { width: usize, values: Vec<f32> },
    /// One number for each sample.
    Elements(Vec<f32>),
}

/// How outputs and targets are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetricRules {
    pub(crate) domain: Domain,
    /// The class index of targets that do not count, if there is one.
    pub(crate) ignored: Option<i64>,
    /// The least logit of a label that is predicted.
    pub(crate) threshold: f64,
    /// Whether NaN marks targets that do not count.
    pub(crate) skips_nan: bool,
}

impl MetricRules {
    /// The rules of a model without a task.
    pub(crate) fn without_task(domain: Domain) -> Self {
        Self {
            domain,
            ignored: (domain == Domain::Categorical).then_some(IGNORE_INDEX),
            threshold: 0.0,
            skips_nan: false,
        }
    }

    /// The samples that count.
    ///
    /// # Errors
    /// When candle fails.
    pub(crate) fn inputs(&self, logits: &Tensor, targets: &Tensor) -> Result<MetricInputs> {
        match self.domain {
            Domain::Categorical => self.categorical(logits, targets),
            Domain::Bernoulli | Domain::Continuous => self.elements(logits, targets),
        }
    }

    fn categorical(&self, logits: &Tensor, targets: &Tensor) -> Result<MetricInputs> {
        let logits = logits.detach();
        let width = logits.dim(1)?;
        let last: Vec<usize> = (0..logits.rank())
            .filter(|axis| *axis != 1)
            .chain([1])
            .collect();
        let logits: Vec<f32> = logits
            .permute(last)?
            .contiguous()?
            .flatten_all()?
            .to_dtype(DType::F32)?
            .to_vec1()?;
        let truth: Vec<i64> = if targets.dtype().is_float() {
            let targets = targets.to_dtype(DType::F32)?;
            let values: Vec<f32> = targets.flatten_all()?.to_vec1()?;
            values
                .chunks_exact(width.max(1))
                .map(first_largest)
                .collect()
        } else {
            targets.flatten_all()?.to_dtype(DType::I64)?.to_vec1()?
        };
        let mut inputs = MetricInputs {
            classes: Vec::new(),
            labels: Vec::new(),
            numbers: Vec::new(),
            predictions: Predictions::Elements(Vec::new()),
        };
        let mut probabilities = Vec::new();
        for (class, row) in truth.into_iter().zip(logits.chunks_exact(width.max(1))) {
            if Some(class) == self.ignored {
                continue;
            }
            inputs.classes.push(class);
            inputs.labels.push(first_largest(row));
            probabilities.extend(softmax(row));
        }
        inputs.predictions = Predictions::Rows {
            width,
            values: probabilities,
        };
        Ok(inputs)
    }

    fn elements(&self, logits: &Tensor, targets: &Tensor) -> Result<MetricInputs> {
        let (logits, targets) = (logits.detach(), targets.to_dtype(DType::F32)?);
        let logits: Vec<f32> = logits.flatten_all()?.to_dtype(DType::F32)?.to_vec1()?;
        let targets: Vec<f32> = targets.flatten_all()?.to_vec1()?;
        let pairs = logits.into_iter().zip(targets);
        let (logits, targets): (Vec<f32>, Vec<f32>) = pairs
            .filter(|(_, target)| !(self.skips_nan && target.is_nan()))
            .unzip();
        if self.domain == Domain::Continuous {
            return Ok(MetricInputs {
                classes: Vec::new(),
                labels: Vec::new(),
                numbers: targets,
                predictions: Predictions::Elements(logits),
            });
        }
        let is_label = |logit: &f32| i64::from(f64::from(*logit) >= self.threshold);
        Ok(MetricInputs {
            classes: targets
                .iter()
                .map(|target| i64::from(*target >= 0.5))
                .collect(),
            labels: logits.iter().map(is_label).collect(),
            numbers: Vec::new(),
            predictions: Predictions::Elements(logits.into_iter().map(sigmoid).collect()),
        })
    }
}

fn first_largest(row: &[f32]) -> i64 {
    let mut best = 0;
    for (at, value) in row.iter().enumerate() {
        // NaN is the largest, as in PyTorch.
        let largest = row.get(best).copied().unwrap_or(f32::NAN);
        if *value > largest || value.is_nan() && !largest.is_nan() {
            best = at;
        }
    }
    i64::try_from(best).unwrap_or(i64::MAX)
}

fn softmax(row: &[f32]) -> Vec<f32> {
    let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f32> = row.iter().map(|value| (value - top).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

fn sigmoid(value: f32) -> f32 {
    1.0 / (1.0 + (-value).exp())
}
