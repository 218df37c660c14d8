//! The metric by which a run chose its best epoch, and the score by which runs are compared.

use nnx_checkpoint::NNCheckpoint;
use nnx_params::{MonitorMode, NNEvaluationDataPoint, NNIterationDataPoint, Number};

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

/// The metric by which epochs are compared where no monitor is declared, from [`comparable_metric`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ComparableMetric {
    /// The name and the finite value; `None` where there is none.
    pub found: Option<(&'static str, f64)>,
    /// The metrics that were passed over before it, such as `val_edp.error=nan`, or
    /// `val_edp=unavailable`.
    pub rejected: Vec<String>,
}

/// The first finite value of validation error, validation loss, training error and training loss.
///
/// The search ends at a validation of a task that counted no target or has no error and no loss: the
/// metrics of the training must not be compared with validation metrics of other runs.
pub fn comparable_metric(
    val: Option<&NNEvaluationDataPoint>,
    train: Option<&NNEvaluationDataPoint>,
) -> ComparableMetric {
    let mut rejected = Vec::new();
    if val.is_some_and(is_unavailable) {
        rejected.push("val_edp=unavailable".to_owned());
        let found = None;
        return ComparableMetric { found, rejected };
    }
    let of = |edp: Option<&NNEvaluationDataPoint>, [error, loss]: [&'static str; 2]| {
        let values = edp.map(|edp| [(error, edp.error()), (loss, edp.loss())]);
        values.into_iter().flatten()
    };
    let candidates = of(val, ["val_edp.error", "val_edp.loss"])
        .chain(of(train, ["train_edp.error", "train_edp.loss"]));
    for (name, value) in candidates {
        match value.map(Number::as_f64) {
            Some(value) if value.is_finite() => {
                let found = Some((name, value));
                return ComparableMetric { found, rejected };
            }
            Some(value) => rejected.push(format!("{name}={}", Number::from(value))),
            None => {}
        }
    }
    ComparableMetric {
        found: None,
        rejected,
    }
}

/// The score of a checkpoint among those of all runs, computed as NNx does, without regard to the
/// run's own monitor: smaller is better, and infinity where there is no finite metric.
pub(crate) fn score(checkpoint: &NNCheckpoint) -> f64 {
    comparable(&checkpoint.idp).map_or(f64::INFINITY, |(_, value)| value)
}

fn comparable(idp: &NNIterationDataPoint) -> Option<(&'static str, f64)> {
    comparable_metric(idp.val_edp(), Some(idp.train_edp())).found
}

/// Whether a record of a task has nothing that can be compared: no target counted, or it has neither
/// an error nor a loss.
pub fn is_unavailable(edp: &NNEvaluationDataPoint) -> bool {
    let is_empty = edp.status() == Some("empty");
    is_empty || edp.kind().is_some() && edp.error().is_none() && edp.loss().is_none()
}
