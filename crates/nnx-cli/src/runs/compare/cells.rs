//! The cells of a metric in two runs.

use nnx::run::EpochMetrics;

use crate::json::JsonFloat;
use crate::runs::metrics::{before_end, shown};

/// Last values, with their epochs if these are not the last ones of the runs.
pub(super) fn last_values(
    values: &[JsonFloat; 2],
    epochs: &[Option<i64>; 2],
    runs: &[Vec<EpochMetrics>; 2],
) -> [String; 2] {
    [0, 1].map(|index| {
        let value = shown(values[index].0);
        match before_end(epochs[index], &runs[index]) {
            Some(epoch) => format!("{value} at epoch {epoch}, then none"),
            None => value,
        }
    })
}

/// Values with their epochs.
pub(super) fn at_epochs(values: &[JsonFloat; 2], epochs: &[Option<i64>; 2]) -> [String; 2] {
    [0, 1].map(|index| match (values[index].0, epochs[index]) {
        (Some(value), Some(epoch)) => format!("{} at epoch {epoch}", shown(Some(value))),
        _ => String::new(),
    })
}
