//! The row of an epoch, computed while its records are added.

use nnx_params::{NNEvaluationDataPoint, NNIterationDataPoint, Number, State, Value};

/// The sums of one metric over the batches of an epoch, plain and weighted by the number of targets
/// that counted. They go from left to right as in NNx, because a sum of floats depends on its order.
#[derive(Clone, Debug)]
struct Sums {
    sum: f64,
    number: u64,
    weighted: f64,
    weight: u64,
    /// Whether every record that has the metric has a count.
    is_counted: bool,
}

impl Sums {
    fn new() -> Self {
        Self {
            sum: 0.0,
            number: 0,
            weighted: 0.0,
            weight: 0,
            is_counted: true,
        }
    }

    fn add(&mut self, value: Option<Number>, count: Option<u64>) {
        let Some(value) = value.map(Number::as_f64) else {
            return;
        };
        self.sum += value;
        self.number = self.number.saturating_add(1);
        match count {
            None => self.is_counted = false,
            Some(count) if self.is_counted => {
                self.weighted += value * count as f64;
                self.weight = self.weight.saturating_add(count);
            }
            Some(_) => {}
        }
    }

    /// The mean; NaN if no record has the metric.
    fn mean(&self) -> f64 {
        if self.is_counted && self.weight > 0 {
            self.weighted / self.weight as f64
        } else {
            self.sum / self.number as f64
        }
    }
}

/// The sums of the epoch that is being written.
#[derive(Clone, Debug)]
pub(super) struct EpochStats {
    epoch: Option<f64>,
    loss: Sums,
    error: Sums,
}

impl EpochStats {
    pub(super) fn new() -> Self {
        Self {
            epoch: None,
            loss: Sums::new(),
            error: Sums::new(),
        }
    }

    /// Adds a record. The first record of another epoch resets the sums.
    pub(super) fn add(&mut self, record: &NNIterationDataPoint) {
        let epoch = record.epoch_idx().as_f64();
        if self.epoch != Some(epoch) {
            *self = Self {
                epoch: Some(epoch),
                ..Self::new()
            };
        }
        let edp = record.train_edp();
        self.loss.add(edp.loss(), edp.count());
        self.error.add(edp.error(), edp.count());
    }

    /// The row of the epoch whose last record is given: only that record has the validation, the
    /// summary of the training and the monitor's decision.
    pub(super) fn row(&self, last: &NNIterationDataPoint) -> State {
        let train = |metric: fn(&NNEvaluationDataPoint) -> Option<Number>, sums: &Sums| match last
            .train_summary()
        {
            Some(summary) => metric(summary),
            None => Some(Number::Float(sums.mean())),
        };
        let val =
            |metric: fn(&NNEvaluationDataPoint) -> Option<Number>| last.val_edp().and_then(metric);
        let selection = last.selection();
        let mut row = State::from_iter([("epoch", last.epoch_idx())]);
        for (name, value) in [
            ("train_loss", train(NNEvaluationDataPoint::loss, &self.loss)),
            (
                "train_err",
                train(NNEvaluationDataPoint::error, &self.error),
            ),
            ("val_loss", val(NNEvaluationDataPoint::loss)),
            ("val_err", val(NNEvaluationDataPoint::error)),
            ("monitor", selection.and_then(|it| it.value())),
        ] {
            let value = value.filter(|value| !value.as_f64().is_nan());
            row.insert(name, value.map_or(Value::None, Value::from));
        }
        row.insert("improved", selection.is_some_and(|it| it.improved()));
        row
    }
}
