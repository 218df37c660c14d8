//! The record of a model with a task.

use candle_core::{DType, Tensor};
use nnx_params::{
    Average, ConfusionCounts, Labels, NNEvaluationDataPoint, Scores, TaskKind, TaskSpec,
};

use super::task_batch::TaskBatch;
use super::totals::CollectedLabels;
use crate::error::{Error, Result};
use crate::evaluate_options::EvaluateOptions;
use crate::predict::{at_least, largest, logit};

/// The counts of a task so far; targets that are masked count nowhere.
#[derive(Debug)]
pub(super) struct TaskRecord<'a> {
    task: &'a TaskSpec,
    batches: usize,
    count: u64,
    labels: CollectedLabels,
    columns: Vec<Column>,
    rows: Rows,
    square_error: f64,
    absolute_error: f64,
}

/// One label of a multilabel task.
#[derive(Clone, Copy, Debug, Default)]
struct Column {
    counts: ConfusionCounts,
    is_present: bool,
}

/// How many rows with a target that counts there were, and how many decisions were right.
#[derive(Clone, Copy, Debug, Default)]
struct Rows {
    count: u64,
    right: u64,
    right_elements: u64,
}

impl<'a> TaskRecord<'a> {
    pub(super) fn new(task: &'a TaskSpec) -> Self {
        Self {
            task,
            batches: 0,
            count: 0,
            labels: CollectedLabels::default(),
            columns: Vec::new(),
            rows: Rows::default(),
            square_error: 0.0,
            absolute_error: 0.0,
        }
    }

    /// Counts a batch.
    ///
    /// # Errors
    /// When the options ask for metrics that the task does not have.
    pub(super) fn add(&mut self, batch: TaskBatch, options: &EvaluateOptions<'_>) -> Result<()> {
        self.batches += 1;
        self.count += batch.count as u64;
        match self.task.kind() {
            TaskKind::Categorical => self.categorical(batch),
            TaskKind::Multilabel => self.multilabel(&batch, options),
            TaskKind::Regression => self.regression(&batch, options),
        }
    }

    /// The number of targets that count.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The record without its loss; one without metrics where no target counts.
    ///
    /// # Errors
    /// When there was no batch.
    pub(super) fn finish(self, options: &EvaluateOptions<'_>) -> Result<NNEvaluationDataPoint> {
        if self.batches == 0 {
            return Err(Error::configuration(
                "an evaluation needs at least one batch, got none",
            ));
        }
        let mut builder =
            NNEvaluationDataPoint::builder().task_record(&self.task.kind().to_string(), self.count);
        if self.count == 0 {
            return Ok(builder.build()?);
        }
        let classes = match (self.task.kind(), self.labels.pair()) {
            (TaskKind::Categorical, Some((truth, predicted))) => {
                let point = NNEvaluationDataPoint::of(truth, predicted, Average::Macro)?;
                let number = |value: Option<nnx_params::Number>| value.map_or(0.0, |n| n.as_f64());
                Some((
                    number(point.accuracy()),
                    Scores {
                        precision: number(point.precision()),
                        recall: number(point.recall()),
                        f1: number(point.f1()),
                    },
                ))
            }
            (TaskKind::Multilabel, _) => {
                let present: Vec<_> = self
                    .columns
                    .iter()
                    .filter(|column| column.is_present)
                    .map(|column| column.counts)
                    .collect();
                let accuracy = ratio(self.rows.right, self.rows.count);
                builder = builder.metrics([
                    ("subset_accuracy", accuracy),
                    (
                        "element_accuracy",
                        ratio(self.rows.right_elements, self.count),
                    ),
                ]);
                Some((accuracy, Scores::from_counts(&present, Average::Macro)))
            }
            _ => {
                let count = ratio(self.count, 1);
                builder = builder.metrics([
                    ("mse", self.square_error / count),
                    ("mae", self.absolute_error / count),
                ]);
                None
            }
        };
        if let Some((accuracy, scores)) = classes {
            builder = builder
                .accuracy(accuracy)
                .error(1.0 - accuracy)
                .precision(scores.precision)
                .recall(scores.recall)
                .f1(scores.f1);
        }
        let point = builder.build()?;
        Ok(match self.labels.pair() {
            None => point,
            Some((truth, predicted)) => options.with_extra(point, truth, predicted),
        })
    }

    fn categorical(&mut self, batch: TaskBatch) -> Result<()> {
        if batch.count == 0 {
            return Ok(());
        }
        let predicted: Vec<i64> = largest(&batch.logits, 1)?.to_vec1()?;
        let truth = batch.targets.to_vec1()?;
        self.labels
            .add(Labels::Classes(truth), Labels::Classes(predicted))
    }

    fn multilabel(&mut self, batch: &TaskBatch, options: &EvaluateOptions<'_>) -> Result<()> {
        let (logits, targets) = (&batch.logits, &batch.targets);
        let width = logits.dim(1)?;
        let least = logit(self.task.threshold());
        let rows = rows_of(targets)?;
        let predicted = rows_of(&at_least(logits, least)?)?;
        self.columns.resize(width, Column::default());
        let inner = logits.elem_count() / logits.dim(0)?.max(1) / width.max(1);
        let (mut kept_truth, mut kept_predicted) = (Vec::new(), Vec::new());
        for (truth, predicted) in rows.iter().zip(&predicted) {
            let (mut counted, mut right) = (0, 0);
            for (at, (truth, predicted)) in truth.iter().zip(predicted).enumerate() {
                if truth.is_nan() {
                    continue;
                }
                let (truth, predicted) = (*truth == 1.0, *predicted == 1.0);
                if let Some(column) = self.columns.get_mut(at / inner.max(1)) {
                    column.is_present = true;
                    match (truth, predicted) {
                        (true, true) => column.counts.true_positives += 1,
                        (false, true) => column.counts.false_positives += 1,
                        (true, false) => column.counts.false_negatives += 1,
                        (false, false) => {}
                    }
                }
                counted += 1;
                right += u64::from(truth == predicted);
                kept_truth.push(i64::from(truth));
                kept_predicted.push(i64::from(predicted));
            }
            self.rows.count += u64::from(counted > 0);
            self.rows.right += u64::from(counted > 0 && right == counted);
            self.rows.right_elements += right;
        }
        if options.extra.is_empty() || kept_truth.is_empty() {
            return Ok(());
        }
        self.labels
            .add(Labels::Classes(kept_truth), Labels::Classes(kept_predicted))
    }

    fn regression(&mut self, batch: &TaskBatch, options: &EvaluateOptions<'_>) -> Result<()> {
        if !options.extra.is_empty() {
            return Err(Error::unsupported(
                "metrics of labels are for tasks with labels, a regression has none",
            ));
        }
        let numbers = |of: &Tensor| -> Result<Vec<f64>> {
            Ok(of.flatten_all()?.to_dtype(DType::F64)?.to_vec1()?)
        };
        for (truth, predicted) in numbers(&batch.targets)?
            .into_iter()
            .zip(numbers(&batch.logits)?)
        {
            if !truth.is_nan() {
                let difference = predicted - truth;
                self.square_error += difference * difference;
                self.absolute_error += difference.abs();
            }
        }
        Ok(())
    }
}

/// The elements of each row.
fn rows_of(values: &Tensor) -> Result<Vec<Vec<f32>>> {
    Ok(values.to_dtype(DType::F32)?.flatten_from(1)?.to_vec2()?)
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
