//! The number by which runs are compared, and the one by which a run chose its best epoch.

use nnx_checkpoint::NNCheckpoint;
use nnx_params::{MonitorMode, NNEvaluationDataPoint, NNIterationDataPoint};

/// The metric by which a run chose its best epoch, at one of its records.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BestMetric {
    /// Which one it is: split and metric of the run's monitor (`val.accuracy`, Python's
    /// `MonitorSpec.key`) where it has one, else `val_edp.error`, `val_edp.loss`,
    /// `train_edp.error` or `train_edp.loss`.
    pub name: String,
    /// Its value, which is finite, in the metric's own unit.
    pub value: f64,
    /// Whether less of it is better, or more; none where the record of a monitor does not say so.
    pub mode: Option<MonitorMode>,
    /// Whether a monitor of the run's own named it. Such a run is never the best of all runs, since
    /// others do not have its metric.
    pub is_monitored: bool,
    /// The epoch of the record.
    pub epoch: f64,
}

impl BestMetric {
    /// The metric of a record, as that of a checkpoint: what the run's monitor saw, or without a
    /// monitor the first finite one of the validation's error and loss and the training's. None
    /// where there is no such, or the monitor saw no finite value: another metric never stands in
    /// for a monitor's.
    pub fn of(idp: &NNIterationDataPoint) -> Option<Self> {
        let epoch = idp.epoch_idx().as_f64();
        let Some(selection) = idp.selection() else {
            let (name, value) = comparable(idp)?;
            return Some(Self {
                name: name.to_owned(),
                value,
                mode: Some(MonitorMode::Min),
                is_monitored: false,
                epoch,
            });
        };
        let value = selection.value()?.as_f64();
        value.is_finite().then(|| Self {
            name: selection.monitor().key(),
            value,
            mode: selection.monitor().mode(),
            is_monitored: true,
            epoch,
        })
    }
}

/// The score of a checkpoint among those of all runs, whatever its own run watches, as the
/// reference computes it: smaller is better, infinite where it has no finite metric.
pub(super) fn of(checkpoint: &NNCheckpoint) -> f64 {
    comparable(&checkpoint.idp).map_or(f64::INFINITY, |(_, value)| value)
}

/// The first finite one of the validation's error and loss and the training's.
///
/// A validation of a task that counted no target, or has neither, ends the search: the training's
/// metrics are never compared in its place.
fn comparable(idp: &NNIterationDataPoint) -> Option<(&'static str, f64)> {
    let first = |edp: &NNEvaluationDataPoint, [error, loss]: [&'static str; 2]| {
        let candidates = [(error, edp.error()), (loss, edp.loss())].into_iter();
        let mut values = candidates.filter_map(|(name, value)| Some((name, value?.as_f64())));
        values.find(|(_, value)| value.is_finite())
    };
    if let Some(edp) = idp.val_edp() {
        if is_unavailable(edp) {
            return None;
        }
        if let Some(found) = first(edp, ["val_edp.error", "val_edp.loss"]) {
            return Some(found);
        }
    }
    first(idp.train_edp(), ["train_edp.error", "train_edp.loss"])
}

fn is_unavailable(edp: &NNEvaluationDataPoint) -> bool {
    let is_empty = edp.status() == Some("empty");
    is_empty || edp.kind().is_some() && edp.error().is_none() && edp.loss().is_none()
}
