//! The metrics of epochs.

pub(super) use nnx::chart::six_digits as number;
use nnx::run::EpochMetrics;
use serde::Serialize;

use super::extra_metrics::ExtraMetrics;
use crate::json::JsonFloat;

/// The four metrics that are drawn and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metric {
    TrainLoss,
    ValLoss,
    TrainError,
    ValError,
}

impl Metric {
    pub(super) const ALL: [Self; 4] = [
        Self::TrainLoss,
        Self::ValLoss,
        Self::TrainError,
        Self::ValError,
    ];

    /// The title of its column.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::TrainLoss => "Train loss",
            Self::ValLoss => "Val loss",
            Self::TrainError => "Train error",
            Self::ValError => "Val error",
        }
    }

    /// Its key in JSON.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::TrainLoss => "train_loss",
            Self::ValLoss => "val_loss",
            Self::TrainError => "train_error",
            Self::ValError => "val_error",
        }
    }

    /// Its value in an epoch.
    pub(super) fn value_in(self, epoch: &EpochMetrics) -> Option<f64> {
        match self {
            Self::TrainLoss => epoch.train_loss,
            Self::ValLoss => epoch.val_loss,
            Self::TrainError => epoch.train_error,
            Self::ValError => epoch.val_error,
        }
    }
}

/// The values of a metric, each with its epoch.
pub(super) fn values(
    epochs: &[EpochMetrics],
    of: impl Fn(&EpochMetrics) -> Option<f64>,
) -> Vec<(i64, f64)> {
    let values = epochs.iter();
    let values = values.filter_map(|epoch| Some((epoch.epoch, of(epoch)?)));
    values.collect()
}

/// The lowest finite value, the first of equals, with its epoch.
pub(super) fn lowest(values: &[(i64, f64)]) -> Option<(i64, f64)> {
    let finite = values.iter().filter(|(_, value)| value.is_finite());
    finite.copied().min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The last value of a metric, with its epoch.
pub(super) fn last(values: &[(i64, f64)]) -> (JsonFloat, Option<i64>) {
    let last = values.last();
    (
        JsonFloat(last.map(|(_, value)| *value)),
        last.map(|(epoch, _)| *epoch),
    )
}

/// The epoch of the last value of a metric; empty if it is the run's last epoch. After a
/// divergence, the last epochs have no value.
pub(super) fn before_end(epoch: Option<i64>, epochs: &[EpochMetrics]) -> Option<i64> {
    let end = epochs.last().map(|last| last.epoch);
    epoch.filter(|_| epoch != end)
}

/// An epoch for JSON.
#[derive(Debug, Serialize)]
pub(super) struct EpochPart {
    epoch: i64,
    /// Null if it was not recorded.
    lr: JsonFloat,
    train_loss: JsonFloat,
    train_error: JsonFloat,
    val_loss: JsonFloat,
    val_error: JsonFloat,
    monitor: JsonFloat,
    /// Null if the run has no monitor.
    improved: Option<bool>,
    metrics: ExtraMetrics,
}

impl EpochPart {
    pub(super) fn new(epoch: &EpochMetrics) -> Self {
        Self {
            epoch: epoch.epoch,
            lr: JsonFloat(Some(epoch.lr).filter(|lr| !lr.is_nan())),
            train_loss: JsonFloat(epoch.train_loss),
            train_error: JsonFloat(epoch.train_error),
            val_loss: JsonFloat(epoch.val_loss),
            val_error: JsonFloat(epoch.val_error),
            monitor: JsonFloat(epoch.monitor),
            improved: epoch.monitor.map(|_| epoch.improved),
            metrics: ExtraMetrics::from_epoch(epoch),
        }
    }
}

/// A metric in a table; empty if it has no value.
pub(super) fn shown(value: Option<f64>) -> String {
    value.map_or_else(String::new, number)
}
