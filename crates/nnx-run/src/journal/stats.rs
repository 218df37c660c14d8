//! The row of an epoch, from its records as they come.

use nnx_params::{NNEvaluationDataPoint, NNIterationDataPoint, Number, State, Value};

/// The sums of one metric over the batches of an epoch, plain and weighted by how many targets
/// counted; summed from left to right, as the reference does it.
#[derive(Clone, Debug)]
struct Sums {
    sum: f64,
    number: u64,
    weighted: f64,
    weight: u64,
    /// Whether every record that has the metric says how many targets counted.
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

    /// The mean; not-a-number where no record has the metric.
    fn mean(&self) -> f64 {
        match self.is_counted && self.weight > 0 {
            true => self.weighted / self.weight as f64,
            false => self.sum / self.number as f64,
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

    /// Takes a record into account; the first one of another epoch begins anew.
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

    /// The row of the epoch that ends with a record, which alone has the validation, the summary of
    /// the training and the monitor's decision.
    pub(super) fn row(&self, last: &NNIterationDataPoint) -> State {
        type Metric = fn(&NNEvaluationDataPoint) -> Option<Number>;
        let train = |of: Metric, sums: &Sums| match last.train_summary() {
            Some(summary) => of(summary),
            None => Some(Number::Float(sums.mean())),
        };
        let val = |of: Metric| last.val_edp().and_then(of);
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
