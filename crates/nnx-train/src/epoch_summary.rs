//! Loss, error and metrics of a whole epoch of training.

use candle_core::Tensor;
use nnx_params::{MetricSpec, NNEvaluationDataPoint};

use crate::error::Result;
use crate::loss_term::{LossTerm, TermSum, total_of_sums};
use crate::metric_inputs::MetricRules;
use crate::metric_set::MetricSet;

/// Loss and error over all batches of an epoch, each weighed by the samples or tokens that it
/// counts, and the declared metrics over all samples.
#[derive(Debug)]
pub(crate) struct EpochSummary {
    metrics: MetricSet,
    rules: MetricRules,
    loss: WeightedMean,
    error: WeightedMean,
    /// The weights of the next record's loss and error, if a step gave them.
    pending: Option<(f64, Option<f64>)>,
    records: usize,
    terms: Vec<TermSum>,
    has_pending_terms: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct WeightedMean {
    total: f64,
    weight: f64,
}

impl WeightedMean {
    fn add(&mut self, value: Option<f64>, weight: f64) {
        if let Some(value) = value {
            self.total += value * weight;
            self.weight += weight;
        }
    }

    fn mean(self) -> Option<f64> {
        (self.weight != 0.0).then(|| self.total / self.weight)
    }
}

impl EpochSummary {
    pub(crate) fn new(metrics: &[MetricSpec], rules: MetricRules) -> Result<Self> {
        Ok(Self {
            metrics: MetricSet::new(metrics)?,
            rules,
            loss: WeightedMean::default(),
            error: WeightedMean::default(),
            pending: None,
            records: 0,
            terms: Vec::new(),
            has_pending_terms: false,
        })
    }

    /// Told by the default step: the outputs of the batch, the weight of its loss, and of its error if
    /// that is not the record's count.
    pub(crate) fn observe(
        &mut self,
        (logits, targets): (&Tensor, &Tensor),
        loss_weight: f64,
        error_weight: Option<f64>,
    ) -> Result<()> {
        if !self.metrics.is_empty() {
            self.metrics.add(&self.rules.inputs(logits, targets)?);
        }
        self.pending = Some((loss_weight, error_weight));
        Ok(())
    }

    /// Told by the step of an objective.
    pub(crate) fn observe_terms(&mut self, terms: &[LossTerm]) {
        TermSum::add_all(&mut self.terms, terms);
        self.has_pending_terms = true;
    }

    /// Counts the record of a batch of so many rows.
    pub(crate) fn add(&mut self, record: &NNEvaluationDataPoint, rows: usize) {
        let fallback = record.count().map_or(rows as f64, |count| count as f64);
        let number = |value: Option<nnx_params::Number>| value.map(|value| value.as_f64());
        self.records += 1;
        if std::mem::take(&mut self.has_pending_terms) {
            self.error.add(number(record.error()), fallback);
            return;
        }
        let (loss, error) = match self.pending.take() {
            Some((loss, error)) => (loss, error.unwrap_or(fallback)),
            None => (fallback, fallback),
        };
        self.loss.add(number(record.loss()), loss);
        self.error.add(number(record.error()), error);
    }

    /// The record of the epoch; `None` before the first batch.
    ///
    /// # Errors
    /// When a metric cannot be computed.
    pub(crate) fn result(&self) -> Result<Option<NNEvaluationDataPoint>> {
        if self.records == 0 {
            return Ok(None);
        }
        let loss = if self.terms.is_empty() {
            self.loss.mean()
        } else {
            total_of_sums(&self.terms)
        };
        let mut point = NNEvaluationDataPoint::builder().metrics(self.metrics.results()?);
        if let Some(loss) = loss {
            point = point.loss(loss);
        }
        if let Some(error) = self.error.mean() {
            point = point.error(error);
        }
        Ok(Some(point.build()?))
    }
}
