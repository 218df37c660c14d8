//! How well a model does.

use candle_core::{DType, Device, Tensor};
use nnx_params::{Labels, Losses, NNEvaluationDataPoint, NNModelParams, NetDescriptor, Nets};

use super::NNModel;
use super::task_batch::TaskBatch;
use super::task_record::TaskRecord;
use super::totals::{CollectedLabels, TotalLoss};
use crate::batch::{Batch, BatchOutput};
use crate::error::{Error, Result};
use crate::evaluate_options::EvaluateOptions;
use crate::inputs::dtype_name;
use crate::loss::{IGNORE_INDEX, LossTerms, NllInput, class_indices, loss_terms};
use crate::predict::{at_least, largest};

impl NNModel {
    /// Loss, error, accuracy, precision, recall and F1 over all batches, in evaluation mode: the
    /// loss weighs each target alike whatever the sizes of the batches, and the other metrics are
    /// computed once from the labels of all.
    ///
    /// A model with a task gives the task's record.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use nnx_net::{Batch, NNModel};
    /// use nnx_params::{NNModelParams, NNParams, Nets};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let net_params = NNParams::builder(2, 2).dropout_prob(0.0).build()?;
    /// let params = NNModelParams::builder(Nets::FeedFwd).build()?;
    /// let model = NNModel::new(net_params.into(), params, 0)?;
    ///
    /// let inputs = Tensor::new(&[[1_f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
    /// let targets = Tensor::new(&[0_i64, 1], &Device::Cpu)?;
    /// let point = model.evaluate([Batch::new([inputs], targets)])?;
    /// assert!(point.loss().is_some() && point.accuracy().is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When there is no sample or none that counts, a batch is not what the net takes, its targets
    /// do not go with the loss or the task, or the loss has no classes to count.
    pub fn evaluate(
        &self,
        batches: impl IntoIterator<Item = Batch>,
    ) -> Result<NNEvaluationDataPoint> {
        self.evaluate_with(batches, &EvaluateOptions::new())
    }

    /// [`evaluate`](Self::evaluate) with metrics of your own, or by other rules.
    ///
    /// # Errors
    /// As for [`evaluate`](Self::evaluate).
    pub fn evaluate_with(
        &self,
        batches: impl IntoIterator<Item = Batch>,
        options: &EvaluateOptions<'_>,
    ) -> Result<NNEvaluationDataPoint> {
        let mut evaluation = self.evaluation(options);
        for batch in batches {
            evaluation.add(&self.evaluate_batch(&batch)?)?;
        }
        evaluation.finish()
    }

    /// An evaluation to which batches are added one by one.
    pub fn evaluation<'a>(&'a self, options: &'a EvaluateOptions<'a>) -> Evaluation<'a> {
        Evaluation::new(&self.params, options)
    }

    /// The metrics of one batch by the rules of [`evaluate`](Self::evaluate), without its loss: NNx
    /// records them of each batch that it trains.
    ///
    /// Where no target counts, a model without a task has zeros and no error.
    ///
    /// # Errors
    /// When the targets do not go with the loss or the task, or the loss has no classes to count.
    pub fn score(
        &self,
        logits: &Tensor,
        targets: &Tensor,
        options: &EvaluateOptions<'_>,
    ) -> Result<BatchScore> {
        batch_score(&self.params, logits, targets, options)
    }

    /// The loss of a batch, by the model's loss and task: its gradient is that of NNx's training.
    ///
    /// # Errors
    /// When the targets do not go with the loss, the task or the logits.
    pub fn loss_terms(
        &self,
        logits: &Tensor,
        targets: &Tensor,
        nll: NllInput,
    ) -> Result<LossTerms> {
        batch_loss(&self.params, logits, targets, nll)
    }
}

/// The metrics of one batch by the rules of [`NNModel::evaluate`], without its loss: as
/// [`NNModel::score`], for any model with that loss or task.
///
/// # Errors
/// When the targets do not go with the loss or the task, or the loss has no classes to count.
pub fn batch_score(
    params: &NNModelParams,
    logits: &Tensor,
    targets: &Tensor,
    options: &EvaluateOptions<'_>,
) -> Result<BatchScore> {
    let logits = logits.detach().to_device(&Device::Cpu)?;
    let targets = targets.to_device(&Device::Cpu)?;
    if let Some(task) = params.task() {
        let mut record = TaskRecord::new(task);
        let batch = TaskBatch::new(task, params.loss(), &logits, &targets)?;
        record.add(batch, options)?;
        let scored = record.count();
        let point = record.finish(options)?;
        return Ok(BatchScore { point, scored });
    }
    Ok(match labels(params, &logits, &targets)? {
        None => BatchScore {
            point: NNEvaluationDataPoint::builder()
                .accuracy(0.0)
                .f1(0.0)
                .recall(0.0)
                .precision(0.0)
                .build()?,
            scored: 0,
        },
        Some((truth, predicted)) => BatchScore {
            point: with_error(options.point(&truth, &predicted)?),
            scored: match params.loss() {
                Losses::BinaryCrossEntropy => targets.elem_count() as u64,
                _ => truth.len() as u64,
            },
        },
    })
}

/// The loss of a batch by the loss and task of a model: as [`NNModel::loss_terms`], for any model.
///
/// # Errors
/// When the targets do not go with the loss, the task or the logits.
pub fn batch_loss(
    params: &NNModelParams,
    logits: &Tensor,
    targets: &Tensor,
    nll: NllInput,
) -> Result<LossTerms> {
    let loss = params.loss();
    match params.task() {
        None => loss_terms(loss, logits, targets, nll),
        Some(task) => TaskBatch::new(task, loss, logits, targets)?.loss_terms(loss, nll),
    }
}

/// The labels that count, true and predicted; none where none does.
fn labels(
    params: &NNModelParams,
    logits: &Tensor,
    targets: &Tensor,
) -> Result<Option<(Labels, Labels)>> {
    let loss = params.loss();
    if targets.elem_count() == 0 {
        return Ok(None);
    }
    if loss == Losses::BinaryCrossEntropy {
        let truth = targets.ge(0.5)?.to_dtype(DType::I64)?;
        let predicted = at_least(logits, 0.0)?;
        return Ok(Some((indicators(&truth)?, indicators(&predicted)?)));
    }
    let axis = match params.net() {
        Some(NetDescriptor::Net(Nets::Transformer)) => logits.rank().saturating_sub(1),
        _ => 1,
    };
    let predicted = largest(logits, axis)?;
    let predicted: Vec<i64> = predicted.flatten_all()?.to_vec1()?;
    let (truth, predicted) = match loss {
        Losses::CrossEntropy if targets.dtype().is_float() => {
            let truth = largest(&targets.to_dtype(DType::F32)?, 1)?;
            (truth.flatten_all()?.to_vec1()?, predicted)
        }
        Losses::MeanSquaredError => (whole_numbers(targets)?, predicted),
        _ => {
            let truth = class_indices(loss, targets)?;
            let pairs = truth.into_iter().zip(predicted);
            pairs.filter(|(truth, _)| *truth != IGNORE_INDEX).unzip()
        }
    };
    let labels = (Labels::Classes(truth), Labels::Classes(predicted));
    Ok((!labels.0.is_empty()).then_some(labels))
}

/// An evaluation that goes on from batch to batch.
#[derive(Debug)]
pub struct Evaluation<'a> {
    params: &'a NNModelParams,
    options: &'a EvaluateOptions<'a>,
    samples: usize,
    loss: TotalLoss,
    labels: CollectedLabels,
    /// Of a model with a task.
    record: Option<TaskRecord<'a>>,
}

/// The metrics of one batch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BatchScore {
    /// The metrics, without a loss.
    pub point: NNEvaluationDataPoint,
    /// The number of targets that they are computed from.
    pub scored: u64,
}

impl<'a> Evaluation<'a> {
    /// An evaluation of outputs of any model with that loss or task.
    pub fn new(params: &'a NNModelParams, options: &'a EvaluateOptions<'a>) -> Self {
        Self {
            params,
            options,
            samples: 0,
            loss: TotalLoss::default(),
            labels: CollectedLabels::default(),
            record: params.task().map(TaskRecord::new),
        }
    }

    /// Counts a batch.
    ///
    /// # Errors
    /// When the targets do not go with the loss or the task, or the loss has no classes to count.
    pub fn add(&mut self, output: &BatchOutput) -> Result<()> {
        let logits = output.logits.detach().to_device(&Device::Cpu)?;
        let targets = output.targets.to_device(&Device::Cpu)?;
        let (params, options) = (self.params, self.options);
        let loss = params.loss();
        if let (Some(task), Some(record)) = (params.task(), &mut self.record) {
            let batch = TaskBatch::new(task, loss, &logits, &targets)?;
            if batch.count > 0 {
                self.loss.add(&batch.loss_terms(loss, options.nll)?)?;
            }
            return record.add(batch, options);
        }
        self.samples += targets.dims().first().copied().unwrap_or_default();
        let terms = loss_terms(loss, &logits, &targets, options.nll)?;
        if let Some((truth, predicted)) = labels(params, &logits, &targets)? {
            self.labels.add(truth, predicted)?;
        }
        self.loss.add(&terms)
    }

    /// The record of all batches.
    ///
    /// # Errors
    /// When there is no sample or none that counts.
    pub fn finish(self) -> Result<NNEvaluationDataPoint> {
        if let Some(record) = self.record {
            let count = record.count();
            let point = record.finish(self.options)?;
            return Ok(match count {
                0 => point,
                _ => point.with_loss(self.loss.mean()),
            });
        }
        let Some((truth, predicted)) = self.labels.into_pair() else {
            return Err(Error::configuration(match self.samples {
                0 => "an evaluation needs at least one sample, got none",
                _ => "an evaluation needs at least one target that counts, all are ignored",
            }));
        };
        let point = self.options.point(&truth, &predicted)?;
        Ok(with_error(point.with_loss(self.loss.mean())))
    }
}

/// The same point with the share that is not right.
fn with_error(point: NNEvaluationDataPoint) -> NNEvaluationDataPoint {
    let accuracy = point.accuracy().map_or(f64::NAN, |value| value.as_f64());
    point.with_error(1.0 - accuracy)
}

/// Each element of a vector, or each row of a matrix, by whether it is 1.
fn indicators(values: &Tensor) -> Result<Labels> {
    let columns = match values.dims() {
        [_] => 1,
        [_, columns] => *columns,
        dims => {
            return Err(Error::configuration(format!(
                "metrics need a vector or a matrix of labels, got the shape `{dims:?}`"
            )));
        }
    };
    let values: Vec<i64> = values.flatten_all()?.to_vec1()?;
    Ok(Labels::indicators(
        columns,
        values.iter().map(|value| *value == 1),
    )?)
}

/// The targets of a regression as classes; they must be whole numbers.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the numbers are whole, and any that int64 does not hold is refused"
)]
fn whole_numbers(targets: &Tensor) -> Result<Vec<i64>> {
    let columns: usize = targets.dims().iter().skip(1).product();
    if columns != 1 {
        return Err(Error::configuration(format!(
            "metrics of classes need one target a sample, got the shape `{:?}`: declare a regression \
             task",
            targets.dims()
        )));
    }
    let dtype = dtype_name(targets.dtype());
    let numbers: Vec<f64> = targets.flatten_all()?.to_dtype(DType::F64)?.to_vec1()?;
    numbers
        .into_iter()
        .map(|number| {
            let whole = number as i64;
            if whole as f64 == number {
                Ok(whole)
            } else {
                Err(Error::configuration(format!(
                    "metrics of classes need whole numbers, got `{number}` of dtype `{dtype}`: declare \
                     a regression task"
                )))
            }
        })
        .collect()
}
