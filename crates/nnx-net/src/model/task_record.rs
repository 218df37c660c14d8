//! The record of a model with a task.

use candle_core::{DType, Tensor};
use nnx_params::{
    Average, ConfusionCounts, Labels, Losses, NNEvaluationDataPoint, Scores, TaskKind, TaskSpec,
};

use super::totals::{CollectedLabels, TotalLoss};
use crate::error::{Error, Result};
use crate::evaluate_options::EvaluateOptions;
use crate::loss::{NllInput, binary_elements, class_indices, classes_last, loss_terms};
use crate::predict::{at_least, largest, logit};

/// What has been counted of a task; targets that are masked count nowhere.
#[derive(Debug)]
pub(super) struct TaskRecord<'a> {
    task: &'a TaskSpec,
    loss: Losses,
    batches: usize,
    count: u64,
    total: TotalLoss,
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
    pub(super) fn new(task: &'a TaskSpec, loss: Losses) -> Self {
        Self {
            task,
            loss,
            batches: 0,
            count: 0,
            total: TotalLoss::default(),
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
    /// When its targets do not go with the task.
    pub(super) fn add(
        &mut self,
        logits: &Tensor,
        targets: &Tensor,
        options: &EvaluateOptions<'_>,
    ) -> Result<()> {
        self.batches += 1;
        if logits.rank() < 2 {
            return Err(self.wrong("outputs `[N, C]`", format!("`{:?}`", logits.dims())));
        }
        match self.task.kind() {
            TaskKind::Categorical => self.categorical(logits, targets, options.nll),
            TaskKind::Multilabel => self.multilabel(logits, targets, options),
            TaskKind::Regression => self.regression(logits, targets, options),
        }
    }

    /// The record; one without loss and metrics where no target counts.
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
        builder = builder.loss(self.total.mean());
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
                Some((accuracy, Scores::of(&present, Average::Macro)))
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

    fn categorical(&mut self, logits: &Tensor, targets: &Tensor, nll: NllInput) -> Result<()> {
        let classes = logits.dim(1)?;
        self.check_width(classes)?;
        let table = classes_last(logits)?.reshape(((), classes))?;
        let indices = class_indices(self.loss, targets)?;
        let places: Vec<usize> = (0..logits.rank())
            .filter(|axis| *axis != 1)
            .map(|axis| logits.dims()[axis])
            .collect();
        if classes < 2 || targets.dims() != places {
            let found = format!(
                "`{:?}` beside outputs `{:?}`",
                targets.dims(),
                logits.dims()
            );
            return Err(self.wrong("one class index an output of at least `2` classes", found));
        }
        let ignored = self.task.ignore_index();
        let (mut rows, mut truth) = (Vec::new(), Vec::new());
        for (row, index) in (0_u32..).zip(indices) {
            if Some(index) == ignored {
                continue;
            }
            if !usize::try_from(index).is_ok_and(|index| index < classes) {
                let expected = format!("class indices from `0` to `{}`", classes - 1);
                return Err(self.wrong(&expected, format!("the index `{index}`")));
            }
            rows.push(row);
            truth.push(index);
        }
        if rows.is_empty() {
            return Ok(());
        }
        let table = table.index_select(&Tensor::new(rows, table.device())?, 0)?;
        let targets = Tensor::new(truth.as_slice(), table.device())?;
        self.total
            .add(&loss_terms(self.loss, &table, &targets, nll)?)?;
        self.count += truth.len() as u64;
        let predicted: Vec<i64> = largest(&table, 1)?.to_vec1()?;
        self.labels
            .add(Labels::Classes(truth), Labels::Classes(predicted))
    }

    fn multilabel(
        &mut self,
        logits: &Tensor,
        targets: &Tensor,
        options: &EvaluateOptions<'_>,
    ) -> Result<()> {
        let width = logits.dim(1)?;
        self.check_width(width)?;
        self.check_shape(logits, targets)?;
        let least = logit(self.task.threshold());
        let rows = rows_of(targets)?;
        let predicted = rows_of(&at_least(logits, least)?)?;
        if let Some(odd) = rows
            .iter()
            .flatten()
            .find(|value| !(value.is_nan() || **value == 0.0 || **value == 1.0))
        {
            return Err(self.wrong("targets `0`, `1` or NaN", format!("`{odd}`")));
        }
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
            self.count += counted;
            self.rows.count += u64::from(counted > 0);
            self.rows.right += u64::from(counted > 0 && right == counted);
            self.rows.right_elements += right;
        }
        let elements = binary_elements(logits, &without_nan(targets)?)?;
        self.masked(&elements, targets, kept_truth.len())?;
        self.keep(kept_truth, kept_predicted, options)
    }

    fn regression(
        &mut self,
        logits: &Tensor,
        targets: &Tensor,
        options: &EvaluateOptions<'_>,
    ) -> Result<()> {
        let width = logits.dim(1)?;
        self.check_width(width)?;
        if !targets.dtype().is_float() {
            let found = format!("the dtype `{}`", crate::inputs::dtype_name(targets.dtype()));
            return Err(self.wrong("float targets", found));
        }
        let one_column = targets.rank() == 1 && logits.dims() == [targets.dim(0)?, 1];
        let targets = if one_column {
            targets.unsqueeze(1)?
        } else {
            targets.clone()
        };
        self.check_shape(logits, &targets)?;
        if !options.extra.is_empty() {
            return Err(Error::unsupported(
                "metrics of labels are for tasks with labels, a regression has none",
            ));
        }
        let truth: Vec<f64> = targets.flatten_all()?.to_dtype(DType::F64)?.to_vec1()?;
        let predicted: Vec<f64> = logits.flatten_all()?.to_dtype(DType::F64)?.to_vec1()?;
        if truth.iter().any(|value| value.is_infinite()) {
            return Err(self.wrong("finite targets or NaN", "an infinite one".to_owned()));
        }
        let mut counted = 0;
        for (truth, predicted) in truth.into_iter().zip(predicted) {
            if !truth.is_nan() {
                let difference = predicted - truth;
                self.square_error += difference * difference;
                self.absolute_error += difference.abs();
                counted += 1;
            }
        }
        self.count += counted as u64;
        let elements = (logits - without_nan(&targets)?)?.sqr()?;
        self.masked(&elements, &targets, counted)
    }

    /// Adds the elements of a loss whose targets count.
    fn masked(&mut self, elements: &Tensor, targets: &Tensor, counted: usize) -> Result<()> {
        if counted == 0 {
            return Ok(());
        }
        let is_masked = targets.ne(targets)?;
        let kept = is_masked.where_cond(&elements.zeros_like()?, elements)?;
        let mut terms = crate::loss::mean_of(&kept.sum_all()?, counted)?;
        if counted < targets.elem_count() {
            // Masked losses are summed, not taken back from their mean.
            terms.numerator = kept.sum_all()?;
        }
        self.total.add(&terms)
    }

    fn keep(
        &mut self,
        truth: Vec<i64>,
        predicted: Vec<i64>,
        options: &EvaluateOptions<'_>,
    ) -> Result<()> {
        if options.extra.is_empty() || truth.is_empty() {
            return Ok(());
        }
        self.labels
            .add(Labels::Classes(truth), Labels::Classes(predicted))
    }

    fn check_width(&self, width: usize) -> Result<()> {
        match self.task.num_outputs() {
            Some(declared) if declared != width => {
                Err(self.wrong(&format!("`{declared}` outputs"), format!("`{width}`")))
            }
            _ => Ok(()),
        }
    }

    fn check_shape(&self, logits: &Tensor, targets: &Tensor) -> Result<()> {
        if targets.dims() == logits.dims() {
            return Ok(());
        }
        let expected = format!("targets of shape `{:?}`", logits.dims());
        Err(self.wrong(&expected, format!("`{:?}`", targets.dims())))
    }

    #[cold]
    fn wrong(&self, expected: &str, found: String) -> Error {
        Error::configuration(format!(
            "a {} task takes {expected}, got {found}",
            self.task.kind()
        ))
    }
}

/// The elements of each row.
fn rows_of(values: &Tensor) -> Result<Vec<Vec<f32>>> {
    Ok(values.to_dtype(DType::F32)?.flatten_from(1)?.to_vec2()?)
}

/// Float32 targets with zeros for NaN.
fn without_nan(targets: &Tensor) -> Result<Tensor> {
    let targets = targets.to_dtype(DType::F32)?;
    Ok(targets
        .ne(&targets)?
        .where_cond(&targets.zeros_like()?, &targets)?)
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
