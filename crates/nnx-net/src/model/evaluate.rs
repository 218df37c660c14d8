//! How well a model does.

use candle_core::{DType, Device, Tensor};
use nnx_params::{Labels, Losses, NNEvaluationDataPoint, Nets};

use super::NNModel;
use super::task_record::TaskRecord;
use super::totals::{CollectedLabels, TotalLoss};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::evaluate_options::EvaluateOptions;
use crate::inputs::{Inputs, dtype_name};
use crate::loss::{IGNORE_INDEX, class_indices, loss_terms};
use crate::mode::Mode;
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
        if let Some(task) = self.params.task() {
            let mut record = TaskRecord::new(task, self.params.loss());
            for batch in batches {
                let (logits, targets) = self.outputs(&batch)?;
                record.add(&logits, &targets, options)?;
            }
            return record.finish(options);
        }
        let loss = self.params.loss();
        let (mut samples, mut total) = (0, TotalLoss::default());
        let mut labels = CollectedLabels::default();
        for batch in batches {
            let (logits, targets) = self.outputs(&batch)?;
            samples += targets.dims().first().copied().unwrap_or_default();
            let terms = loss_terms(loss, &logits, &targets, options.nll)?;
            if let Some((truth, predicted)) = self.labels(&logits, &targets)? {
                labels.add(truth, predicted)?;
            }
            total.add(&terms)?;
        }
        let Some((truth, predicted)) = labels.into_pair() else {
            return Err(Error::configuration(match samples {
                0 => "an evaluation needs at least one sample, got none",
                _ => "an evaluation needs at least one target that counts, all are ignored",
            }));
        };
        let point = options.point(&truth, &predicted)?;
        let accuracy = point.accuracy().map_or(f64::NAN, |value| value.as_f64());
        Ok(point.with_loss(total.mean()).with_error(1.0 - accuracy))
    }

    /// The logits that count and their targets, on the CPU; those of a transformer as rows.
    fn outputs(&self, batch: &Batch) -> Result<(Tensor, Tensor)> {
        self.full_precision()?;
        let inputs = self.inputs(Inputs::from(&batch.inputs))?;
        let logits = self.net.forward(&inputs, &mut Mode::Eval)?;
        let mut logits = logits.detach().to_device(&Device::Cpu)?;
        let mut targets = batch.targets.to_device(&Device::Cpu)?;
        if self.net.kind() == Nets::Transformer {
            let classes = logits.dim(2)?;
            if targets.dims() == logits.dims() {
                targets = targets.reshape(((), classes))?;
                logits = logits.reshape(((), classes))?;
            } else if logits.dims().starts_with(targets.dims()) && targets.rank() == 2 {
                targets = targets.flatten_all()?;
                logits = logits.reshape(((), classes))?;
            }
        }
        if let Some(seeds) = batch.seeds.filter(|_| is_graph(self.net.kind())) {
            logits = first_rows(&logits, seeds)?;
            targets = first_rows(&targets, seeds)?;
        }
        Ok((logits, targets))
    }

    /// The labels that count, true and predicted; none where none does.
    fn labels(&self, logits: &Tensor, targets: &Tensor) -> Result<Option<(Labels, Labels)>> {
        let loss = self.params.loss();
        if targets.elem_count() == 0 {
            return Ok(None);
        }
        if loss == Losses::BinaryCrossEntropy {
            let truth = targets.ge(0.5)?.to_dtype(DType::I64)?;
            let predicted = at_least(logits, 0.0)?;
            return Ok(Some((indicators(&truth)?, indicators(&predicted)?)));
        }
        let axis = match self.net.kind() {
            Nets::Transformer => logits.rank().saturating_sub(1),
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
}

fn is_graph(net: Nets) -> bool {
    matches!(net, Nets::GraphAtt | Nets::GraphConv | Nets::GraphSage)
}

/// The first rows, or all where there are fewer.
fn first_rows(rows: &Tensor, count: usize) -> Result<Tensor> {
    let all = rows.dim(0)?;
    Ok(rows.narrow(0, 0, count.min(all))?)
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

/// Targets of a regression as classes, which is what they are where they are whole.
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
