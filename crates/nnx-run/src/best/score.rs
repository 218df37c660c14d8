//! The number by which runs are compared.

use nnx_checkpoint::NNCheckpoint;
use nnx_params::{NNEvaluationDataPoint, NNIterationDataPoint};

/// The metric by which a checkpoint is compared with others; smaller is better.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BestMetric {
    /// Which one it is: `val_edp.error`, `val_edp.loss`, `train_edp.error` or `train_edp.loss`.
    pub name: &'static str,
    /// Its value, which is finite.
    pub value: f64,
    /// The epoch of the checkpoint.
    pub epoch: f64,
}

impl BestMetric {
    /// The metric of a record, as that of a checkpoint: the first finite one of the validation's
    /// error and loss and the training's; none where there is no such.
    pub fn of(idp: &NNIterationDataPoint) -> Option<Self> {
        metric(idp)
    }
}

/// The score of a checkpoint: infinite where it has no finite metric.
pub(super) fn of(checkpoint: &NNCheckpoint) -> f64 {
    metric(&checkpoint.idp).map_or(f64::INFINITY, |metric| metric.value)
}

/// The first finite one of the validation's error and loss and the training's.
///
/// A validation of a task that counted no target, or has neither, ends the search: the training's
/// metrics are never compared in its place.
pub(crate) fn metric(idp: &NNIterationDataPoint) -> Option<BestMetric> {
    let epoch = idp.epoch_idx().as_f64();
    let metric = |name, value: f64| {
        value
            .is_finite()
            .then_some(BestMetric { name, value, epoch })
    };
    if let Some(edp) = idp.val_edp() {
        if is_unavailable(edp) {
            return None;
        }
        let error = edp
            .error()
            .and_then(|it| metric("val_edp.error", it.as_f64()));
        let loss = || {
            edp.loss()
                .and_then(|it| metric("val_edp.loss", it.as_f64()))
        };
        if let Some(found) = error.or_else(loss) {
            return Some(found);
        }
    }
    let edp = idp.train_edp();
    let error = edp
        .error()
        .and_then(|it| metric("train_edp.error", it.as_f64()));
    error.or_else(|| {
        edp.loss()
            .and_then(|it| metric("train_edp.loss", it.as_f64()))
    })
}

fn is_unavailable(edp: &NNEvaluationDataPoint) -> bool {
    let is_empty = edp.status() == Some("empty");
    is_empty || edp.kind().is_some() && edp.error().is_none() && edp.loss().is_none()
}
