//! How a model is evaluated.

use std::fmt;

use nnx_params::{Average, Labels, NNEvaluationDataPoint};

use crate::error::Result;
use crate::loss::NllInput;

/// A metric of the true and the predicted labels, in this order.
pub type LabelMetric<'a> = Box<dyn Fn(&Labels, &Labels) -> f64 + 'a>;

/// Options of [`NNModel::evaluate_with`](crate::NNModel::evaluate_with).
///
/// ```
/// use nnx_net::{EvaluateOptions, NllInput};
/// use nnx_params::Average;
///
/// let options = EvaluateOptions::new()
///     .average(Average::Weighted)
///     .nll(NllInput::Logits)
///     .extra("samples", |truth, _| truth.len() as f64);
/// assert_eq!(options.average, Average::Weighted);
/// ```
#[derive(Default)]
#[non_exhaustive]
pub struct EvaluateOptions<'a> {
    /// How the scores of the classes are averaged. Default: macro.
    pub average: Average,
    /// The input of the negative log-likelihood. Default: as in NNx 0.4.1.
    pub nll: NllInput,
    /// Further metrics by name. Default: none.
    pub extra: Vec<(String, LabelMetric<'a>)>,
}

impl<'a> EvaluateOptions<'a> {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`average`](Self::average).
    #[must_use]
    pub fn average(mut self, average: Average) -> Self {
        self.average = average;
        self
    }

    /// Sets [`nll`](Self::nll).
    #[must_use]
    pub fn nll(mut self, input: NllInput) -> Self {
        self.nll = input;
        self
    }

    /// Adds a metric to [`extra`](Self::extra). It is computed once, from the labels of all batches,
    /// and becomes an entry of the result's `extra`.
    #[must_use]
    pub fn extra(mut self, name: &str, metric: impl Fn(&Labels, &Labels) -> f64 + 'a) -> Self {
        self.extra.push((name.to_owned(), Box::new(metric)));
        self
    }

    /// The metrics of labels.
    ///
    /// # Errors
    /// When the two do not have as many labels of one kind.
    pub(crate) fn point(
        &self,
        truth: &Labels,
        predicted: &Labels,
    ) -> Result<NNEvaluationDataPoint> {
        let point = NNEvaluationDataPoint::of(truth, predicted, self.average)?;
        Ok(self.with_extra(point, truth, predicted))
    }

    /// The same point with the further metrics.
    pub(crate) fn with_extra(
        &self,
        point: NNEvaluationDataPoint,
        truth: &Labels,
        predicted: &Labels,
    ) -> NNEvaluationDataPoint {
        self.extra.iter().fold(point, |point, (name, metric)| {
            point.with_extra(name, metric(truth, predicted))
        })
    }
}

impl fmt::Debug for EvaluateOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.extra.iter().map(|(name, _)| name).collect();
        f.debug_struct("EvaluateOptions")
            .field("average", &self.average)
            .field("nll", &self.nll)
            .field("extra", &names)
            .finish()
    }
}
