//! The metrics of each epoch, as the charts of NNx show them.

use std::collections::BTreeMap;

use nnx_params::{NNEvaluationDataPoint, NNIterationDataPoint, Number};

/// The metrics of one epoch; none where there is nothing to show.
///
/// Those of the training are of the whole epoch where it was recorded, else the mean of its
/// batches, weighted by how many targets counted where that was recorded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EpochMetrics {
    /// The epoch, from 0.
    pub epoch: i64,
    /// The learning rate of the last iteration; not a number where only the row of a journal tells
    /// of the epoch.
    pub lr: f64,
    /// The training loss.
    pub train_loss: Option<f64>,
    /// The share of wrong answers in training.
    pub train_error: Option<f64>,
    /// The validation loss.
    pub val_loss: Option<f64>,
    /// The share of wrong answers in the validation.
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

pub(crate) fn of_records(records: &[NNIterationDataPoint]) -> Vec<EpochMetrics> {
    let mut epochs: BTreeMap<i64, Vec<&NNIterationDataPoint>> = BTreeMap::new();
    for record in records {
        // An epoch that is no whole number belongs to none: `RunWarning` tells of it.
        if let Some(epoch) = record.epoch_idx().as_i64() {
            epochs.entry(epoch).or_default().push(record);
        }
    }
    epochs
        .into_iter()
        .map(|(epoch, records)| of_epoch(epoch, &records))
        .collect()
}

fn of_epoch(epoch: i64, records: &[&NNIterationDataPoint]) -> EpochMetrics {
    let last = |of: fn(&NNIterationDataPoint) -> Option<&NNEvaluationDataPoint>| {
        records.iter().rev().find_map(|record| of(record))
    };
    let summary = last(NNIterationDataPoint::train_summary);
    let val_edp = last(NNIterationDataPoint::val_edp);
    let selection = records.iter().rev().find_map(|record| record.selection());
    let train = |of: Metric| match summary {
        Some(summary) => value(of(summary)),
        None => mean(records, of),
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

/// The mean over the records that have the metric: weighted where all of them say by how much, and
/// summed from left to right, as the reference does it.
fn mean(records: &[&NNIterationDataPoint], of: Metric) -> Option<f64> {
    let present = records.iter().map(|record| record.train_edp());
    let present: Vec<(f64, Option<u64>)> = present
        .filter_map(|edp| Some((of(edp)?.as_f64(), edp.count())))
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
