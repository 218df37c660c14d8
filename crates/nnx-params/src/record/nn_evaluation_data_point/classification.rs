//! The metrics of a classification.

use super::NNEvaluationDataPoint;
use crate::error::Result;
use crate::number::Number;
use crate::record::labels::{Average, Labels, Scores};

impl NNEvaluationDataPoint {
    /// Accuracy, precision, recall and F1 of predicted labels, as scikit-learn computes them over
    /// the classes that are true or predicted somewhere; a score without any decision is 0.
    ///
    /// ```
    /// use nnx_params::{Average, Labels, NNEvaluationDataPoint, Number};
    ///
    /// let truth = Labels::Classes(vec![0, 1, 1, 2]);
    /// let predicted = Labels::Classes(vec![0, 1, 2, 2]);
    /// let point = NNEvaluationDataPoint::of(&truth, &predicted, Average::Macro)?;
    /// assert_eq!(point.accuracy(), Some(Number::Float(0.75)));
    /// # Ok::<(), nnx_params::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// There is no sample, or the two are not labels of the same samples.
    pub fn of(truth: &Labels, predicted: &Labels, average: Average) -> Result<Self> {
        let (accuracy, counts) = truth.confusion(predicted)?;
        let scores = Scores::from_counts(&counts, average);
        Ok(Self {
            f1: Some(Number::Float(scores.f1)),
            recall: Some(Number::Float(scores.recall)),
            accuracy: Some(Number::Float(accuracy)),
            precision: Some(Number::Float(scores.precision)),
            ..Self::default()
        })
    }
}
