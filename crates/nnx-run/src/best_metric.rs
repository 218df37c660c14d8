//! The metric by which a run chose its best epoch, and the score by which runs are compared.

use nnx_checkpoint::NNCheckpoint;
use nnx_params::{MonitorMode, NNEvaluationDataPoint, NNIterationDataPoint};

/// The metric by which a run chose its best epoch, at one of its records.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BestMetric {
    /// The name of the metric: split and metric of the run's monitor (`val.accuracy`, Python's
    /// `MonitorSpec.key`) if it has one, otherwise `val_edp.error`, `val_edp.loss`,
    /// `train_edp.error` or `train_edp.loss`.
    pub name: String,
    /// The finite value, in the unit of the metric.
    pub value: f64,
    /// Whether a smaller or a larger value is better; `None` if the monitor's record does not say.
    pub mode: Option<MonitorMode>,
    /// Whether a monitor of the run's own chose the metric. Such a run is never the best of all runs,
    /// because the other runs do not have its metric.
    pub is_monitored: bool,
    /// The epoch of the record.
    pub epoch: f64,
}

impl BestMetric {
    /// The metric of a record, such as the one in a checkpoint.
    ///
    /// It is the value that the run's monitor saw. Without a monitor it is the first finite value of:
    /// validation error, validation loss, training error, training loss. `None` if there is no such
    /// value, or if the monitor saw no finite value: no other metric replaces that of a monitor.
    pub fn from_record(idp: &NNIterationDataPoint) -> Option<Self> {
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

/// The score of a checkpoint among those of all runs, computed as NNx does, without regard to the
/// run's own monitor: smaller is better, and infinity where there is no finite metric.
pub(crate) fn score(checkpoint: &NNCheckpoint) -> f64 {
    comparable(&checkpoint.idp).map_or(f64::INFINITY, |(_, value)| value)
}

/// The first finite value of validation error, validation loss, training error and training loss.
///
/// The search ends at a validation of a task that counted no target or has no error and no loss: the
/// metrics of the training must not be compared with validation metrics of other runs.
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
