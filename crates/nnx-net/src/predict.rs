//! From logits to classes.

use candle_core::{DType, Device, Tensor};
use nnx_params::{Losses, TaskKind, TaskSpec};

use crate::error::{Error, Result};

/// What a model says about a batch; both tensors are on the CPU.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prediction {
    /// The outputs of the net, float32.
    pub logits: Tensor,
    /// What they stand for, by the task, or else by the loss.
    ///
    /// Categorical: the index of each row's largest logit, int64, the first of equal ones.
    /// Multilabel and binary cross entropy: 0 or 1 for each logit, int64.
    /// Regression: the logits themselves, float32.
    pub classes: Tensor,
}

/// How a model's logits are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Decoding {
    /// The index of the largest logit along axis 1.
    Largest,
    /// 1 where the logit is at least this, else 0.
    AtLeast(f32),
    /// The logits are the answer.
    Values,
}

impl Decoding {
    /// The decoding of a model.
    ///
    /// # Errors
    /// When the task does not go with the loss, or declares another number of outputs.
    pub(crate) fn of(loss: Losses, task: Option<&TaskSpec>, output_dim: usize) -> Result<Self> {
        let Some(task) = task else {
            return Ok(match loss {
                Losses::BinaryCrossEntropy => Self::AtLeast(0.0),
                _ => Self::Largest,
            });
        };
        let kind = task.kind();
        let (losses, decoding): (&[Losses], _) = match kind {
            TaskKind::Categorical => (
                &[Losses::CrossEntropy, Losses::NegativeLogLikelihood],
                Self::Largest,
            ),
            TaskKind::Multilabel => (
                &[Losses::BinaryCrossEntropy],
                Self::AtLeast(logit(task.threshold().as_f64())),
            ),
            TaskKind::Regression => (&[Losses::MeanSquaredError], Self::Values),
        };
        if !losses.contains(&loss) {
            let losses: Vec<_> = losses.iter().map(Losses::to_string).collect();
            return Err(Error::configuration(format!(
                "a {kind} task needs the loss `{}`, got `{loss}`",
                losses.join("` or `")
            )));
        }
        match task.num_outputs() {
            Some(declared) if declared != output_dim => Err(Error::configuration(format!(
                "the {kind} task declares `{declared}` outputs, the net has `{output_dim}`"
            ))),
            _ => Ok(decoding),
        }
    }

    /// Reads logits that are on the CPU.
    ///
    /// # Errors
    /// When the logits have no axis to look along.
    pub(crate) fn classes(self, logits: &Tensor) -> Result<Tensor> {
        Ok(match self {
            Self::Largest => largest(logits)?,
            Self::AtLeast(bound) => logits.ge(bound)?.to_dtype(DType::I64)?,
            Self::Values => logits.clone(),
        })
    }
}

/// The logit of a probability, rounded to the precision in which it is compared.
#[expect(
    clippy::cast_possible_truncation,
    reason = "PyTorch compares float32 logits with a float32 threshold"
)]
fn logit(probability: f64) -> f32 {
    (probability / (1.0 - probability)).ln() as f32
}

/// The index of the largest element along axis 1: the first of equal ones, and NaN above all, as
/// `torch.argmax` has it.
fn largest(logits: &Tensor) -> Result<Tensor> {
    let classes = logits.dim(1)?;
    let mut axes: Vec<usize> = (0..logits.rank()).filter(|axis| *axis != 1).collect();
    let shape: Vec<usize> = axes.iter().map(|axis| logits.dims()[*axis]).collect();
    axes.push(1);
    let values = logits.permute(axes)?.flatten_all()?.to_vec1::<f32>()?;
    let indices: Vec<i64> = values.chunks(classes.max(1)).map(first_largest).collect();
    Ok(Tensor::from_vec(indices, shape, &Device::Cpu)?)
}

fn first_largest(row: &[f32]) -> i64 {
    let (mut index, mut best) = (0, f32::NEG_INFINITY);
    for (i, &value) in (0_i64..).zip(row) {
        if value.is_nan() {
            return i;
        }
        if value > best {
            (index, best) = (i, value);
        }
    }
    index
}
