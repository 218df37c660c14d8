//! The metrics that a program registers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use nnx_params::{MetricSpec, MonitorMode, State};

use crate::error::Result;

/// The input of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MetricInput {
    /// True and predicted classes, or labels 0 and 1.
    Labels,
    /// True classes, and the probabilities of the predictions.
    Probabilities,
    /// True and predicted numbers.
    Continuous,
}

/// The samples of one batch that count, as the [`MetricInput`] of a metric asks for them.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum MetricBatch<'a> {
    /// A class for each sample; of several labels a sample, 0 or 1 for each label.
    Labels {
        /// The true classes or labels.
        truth: &'a [i64],
        /// The predicted ones.
        predicted: &'a [i64],
    },
    /// The probability of each class for each sample.
    Classes {
        /// The true classes.
        truth: &'a [i64],
        /// The number of classes.
        width: usize,
        /// The probabilities, `[samples, width]` in row-major order.
        values: &'a [f32],
    },
    /// The probability that a label is 1, for each label.
    Probabilities {
        /// The true labels, 0 or 1.
        truth: &'a [i64],
        /// The probabilities.
        values: &'a [f32],
    },
    /// A number for each output.
    Continuous {
        /// The true numbers.
        truth: &'a [f32],
        /// The predicted ones.
        predicted: &'a [f32],
    },
}

/// A metric of a program, which declarations name by id and version: NNx's `MetricDefinition`.
pub trait Metric: Send + Sync {
    /// The input from which it is computed.
    fn input(&self) -> MetricInput;

    /// The direction in which it improves.
    fn mode(&self) -> MonitorMode;

    /// Checks the settings of a declaration, before a training begins. Default: all are accepted.
    ///
    /// # Errors
    /// When a setting is not one of the metric's.
    fn check(&self, config: &State) -> Result<()> {
        let _ = config;
        Ok(())
    }

    /// A fresh accumulator, for one split of one epoch.
    fn accumulator(&self, config: &State) -> Box<dyn MetricAccumulator>;
}

/// A metric over the samples of one split of one epoch.
pub trait MetricAccumulator {
    /// Counts the samples of a batch.
    fn update(&mut self, batch: &MetricBatch<'_>);

    /// The metric over all samples so far; `None` before the first.
    fn result(&self) -> Option<f64>;
}

/// Id and version.
type Key = (String, usize);

static REGISTERED: RwLock<BTreeMap<Key, Arc<dyn Metric>>> = RwLock::new(BTreeMap::new());

/// Registers a metric for the declarations of that id and version, unless there is one.
pub(crate) fn register(spec: &MetricSpec, metric: Arc<dyn Metric>) -> bool {
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let is_new = !registered.contains_key(&key(spec));
    if is_new {
        registered.insert(key(spec), metric);
    }
    is_new
}

/// The metric that a program registered for a declaration.
pub(crate) fn registered(spec: &MetricSpec) -> Option<Arc<dyn Metric>> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.get(&key(spec)).cloned()
}

fn key(spec: &MetricSpec) -> Key {
    (spec.id().to_owned(), spec.version())
}

impl fmt::Debug for dyn Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metric")
            .field("input", &self.input())
            .field("mode", &self.mode())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for dyn MetricAccumulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricAccumulator")
            .field("result", &self.result())
            .finish_non_exhaustive()
    }
}
