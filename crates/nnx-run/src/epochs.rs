//! The metrics of each epoch, as the charts of NNx show them.

use std::collections::BTreeMap;

use nnx_params::{NNEvaluationDataPoint, NNIterationDataPoint, Number};

/// The metrics of one epoch; `None` for a metric without a value.
///
/// A training metric is that of the whole epoch if that was recorded. Otherwise it is the mean over
/// the batches, weighted by the number of targets that counted if that was recorded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EpochMetrics {
    /// The epoch, from 0.
    pub epoch: i64,
    /// The learning rate of the last iteration; NaN if only the row of a journal describes the
    /// epoch, which does not have it.
    pub lr: f64,
    /// The training loss.
    pub train_loss: Option<f64>,
    /// The fraction of wrong answers in training, from 0 to 1.
    pub train_error: Option<f64>,
    /// The validation loss.
    pub val_loss: Option<f64>,
    /// The fraction of wrong answers in the validation, from 0 to 1.
    pub val_error: Option<f64>,
    /// The training record of the last batch, with all its metrics.
    pub train_edp: Option<NNEvaluationDataPoint>,
    /// The training record of the whole epoch, with all its metrics.
    pub train_summary: Option<NNEvaluationDataPoint>,
    /// The validation record, with all its metrics.
    pub val_edp: Option<NNEvaluationDataPoint>,
    /// The value that the run's monitor watched.
    pub monitor: Option<f64>,
    /// Whether the monitor found the epoch to be the best so far.
    pub improved: bool,
}

/// The epochs of records, in order. A record whose epoch is not a whole number of 64 bits is in none
/// of them; `RunWarning` reports such records.
pub(crate) fn from_records(records: &[NNIterationDataPoint]) -> Vec<EpochMetrics> {
    let mut epochs: BTreeMap<i64, Vec<&NNIterationDataPoint>> = BTreeMap::new();
    for record in records {
        if let Some(epoch) = record.epoch_idx().as_i64() {
            epochs.entry(epoch).or_default().push(record);
        }
    }
    epochs
        .into_iter()
        .map(|(epoch, records)| from_epoch(epoch, &records))
        .collect()
}

/// Whether a number is an epoch as NNx counts them.
pub(crate) fn is_epoch(number: Number) -> bool {
    number.as_i64().is_some_and(|number| number >= 0)
}

fn from_epoch(epoch: i64, records: &[&NNIterationDataPoint]) -> EpochMetrics {
    let last = |edp: fn(&NNIterationDataPoint) -> Option<&NNEvaluationDataPoint>| {
        records.iter().rev().find_map(|record| edp(record))
    };
    let summary = last(NNIterationDataPoint::train_summary);
    let val_edp = last(NNIterationDataPoint::val_edp);
    let selection = records.iter().rev().find_map(|record| record.selection());
    let train = |metric: Metric| match summary {
        Some(summary) => value(metric(summary)),
        None => mean(records, metric),
    };
    EpochMetrics {
        epoch,
        lr: records
            .last()
            .map_or(f64::NAN, |record| record.lr().as_f64()),
        train_loss: train(NNEvaluationDataPoint::loss),
        train_error: train(NNEvaluationDataPoint::error),
        val_loss: val_edp.and_then(|edp| value(edp.loss())),
        val_error: val_edp.and_then(|edp| value(edp.error())),
        train_edp: records.last().map(|record| record.train_edp().clone()),
        train_summary: summary.cloned(),
        val_edp: val_edp.cloned(),
        monitor: selection.and_then(|selection| value(selection.value())),
        improved: selection.is_some_and(|selection| selection.improved()),
    }
}

type Metric = fn(&NNEvaluationDataPoint) -> Option<Number>;

fn value(number: Option<Number>) -> Option<f64> {
    number.map(Number::as_f64).filter(|value| !value.is_nan())
}

/// The mean over the records that have the metric. It is weighted if all of them have a count. The
/// sums go from left to right as in NNx, because a sum of floats depends on its order.
fn mean(records: &[&NNIterationDataPoint], metric: Metric) -> Option<f64> {
    let edps = records.iter().map(|record| record.train_edp());
    let present: Vec<(f64, Option<u64>)> = edps
        .filter_map(|edp| Some((metric(edp)?.as_f64(), edp.count())))
        .collect();
    let counts: Option<Vec<u64>> = present.iter().map(|(_, count)| *count).collect();
    let total = counts
        .iter()
        .flatten()
        .fold(0_u64, |total, count| total.saturating_add(*count));
    let (sum, weight) = if total > 0 {
        let weighted = present
            .iter()
            .map(|(value, count)| value * count.unwrap_or_default() as f64);
        (weighted.fold(0.0, |sum, value| sum + value), total as f64)
    } else {
        let sum = present.iter().fold(0.0, |sum, (value, _)| sum + value);
        (sum, present.len() as f64)
    };
    (weight > 0.0)
        .then(|| sum / weight)
        .filter(|mean| !mean.is_nan())
}
