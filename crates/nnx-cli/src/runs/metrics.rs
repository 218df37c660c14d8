//! The metrics of epochs.

use nnx::run::EpochMetrics;
use serde::Serialize;

use super::extra_metrics::ExtraMetrics;
use crate::json::JsonFloat;

/// Digits that a table shows of a metric; JSON has all of them.
const DIGITS: i32 = 6;

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

    /// As a title of a column.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::TrainLoss => "Train loss",
            Self::ValLoss => "Val loss",
            Self::TrainError => "Train error",
            Self::ValError => "Val error",
        }
    }

    /// As a key of JSON.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::TrainLoss => "train_loss",
            Self::ValLoss => "val_loss",
            Self::TrainError => "train_error",
            Self::ValError => "val_error",
        }
    }

    /// Its value in an epoch.
    pub(super) fn of(self, epoch: &EpochMetrics) -> Option<f64> {
        match self {
            Self::TrainLoss => epoch.train_loss,
            Self::ValLoss => epoch.val_loss,
            Self::TrainError => epoch.train_error,
            Self::ValError => epoch.val_error,
        }
    }
}

/// The last value that there is of a metric, with its epoch.
pub(super) fn last(values: &[(i64, f64)]) -> (JsonFloat, Option<i64>) {
    let last = values.last();
    (
        JsonFloat(last.map(|(_, value)| *value)),
        last.map(|(epoch, _)| *epoch),
    )
}

/// In which epoch the last value of a metric is; nothing where that is the last one of the run. What
/// diverged has no value at the end.
pub(super) fn before_end(epoch: Option<i64>, epochs: &[EpochMetrics]) -> Option<i64> {
    let end = epochs.last().map(|last| last.epoch);
    epoch.filter(|_| epoch != end)
}

/// An epoch for JSON.
#[derive(Debug, Serialize)]
pub(super) struct EpochPart {
    epoch: i64,
    /// Null where it was not recorded.
    lr: JsonFloat,
    train_loss: JsonFloat,
    train_error: JsonFloat,
    val_loss: JsonFloat,
    val_error: JsonFloat,
    monitor: JsonFloat,
    /// Null where no monitor watched.
    improved: Option<bool>,
    metrics: ExtraMetrics,
}

impl EpochPart {
    pub(super) fn of(epoch: &EpochMetrics) -> Self {
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

/// A metric as a table shows it; nothing for one that is not there.
pub(super) fn shown(value: Option<f64>) -> String {
    value.map_or_else(String::new, number)
}

/// A number with six digits, without the zeros behind its last one; as a power of ten where it is
/// very large or small.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    // Rounding may add a digit before the point, so the exponent is that of the rounded number.
    let rounded = format!("{value:.*e}", (DIGITS - 1) as usize);
    let Some((digits, exponent)) = rounded.split_once('e') else {
        return rounded;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..DIGITS + 3).contains(&exponent) {
        return format!("{}e{exponent}", without_zeros(digits));
    }
    let decimals = (DIGITS - 1 - exponent).max(0) as usize;
    without_zeros(&format!("{value:.decimals$}")).to_owned()
}

fn without_zeros(digits: &str) -> &str {
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected texts are those of C's `%.6g` where it does not write an exponent.
    #[track_caller]
    fn check(value: f64, expected: &str) {
        assert_eq!(number(value), expected);
    }

    #[test]
    fn six_digits() {
        check(0.0, "0");
        check(0.25, "0.25");
        check(0.880_101_025_104_522_7, "0.880101");
        check(0.999_999_96, "1");
        check(-12.345_678_9, "-12.3457");
        check(123_456.0, "123456");
        check(99_999.999, "100000");
        check(0.000_123_456_78, "0.000123457");
        check(1e-7, "1e-7");
        check(2.5e12, "2.5e12");
        check(f64::MAX, "1.79769e308");
        check(5e-324, "4.94066e-324");
        check(f64::NAN, "NaN");
        check(f64::NEG_INFINITY, "-inf");
    }
}
