//! From logits to classes.

use candle_core::{DType, Device, Tensor};
use nnx_params::{Losses, Nets, TaskKind, TaskSpec};

use crate::error::{Error, Result};

/// The prediction of a model for a batch; both tensors are on the CPU.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prediction {
    /// The outputs of the net, float32.
    pub logits: Tensor,
    /// The decoded logits; the task decides how, or the loss if the model has no task.
    ///
    /// - Categorical: the index of the largest logit along axis 1, or along the last axis for a
    ///   transformer's `[N, T, V]`, int64. Of equal logits the first one is taken.
    /// - Multilabel and binary cross entropy: 0 or 1 for each logit, int64.
    /// - Regression: the logits, float32.
    pub classes: Tensor,
}

/// How a model's logits are decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Decoding {
    /// The index of the largest logit along axis 1.
    Largest,
    /// The index of the largest logit along the last axis.
    LargestLast,
    /// 1 if the logit is at least this, otherwise 0.
    AtLeast(f32),
    /// The logits, unchanged.
    Values,
}

impl Decoding {
    /// The decoding of a model.
    ///
    /// # Errors
    /// When the task does not fit the net or the loss, or declares another number of outputs.
    pub(crate) fn new(
        net: Nets,
        loss: Losses,
        task: Option<&TaskSpec>,
        output_dim: usize,
    ) -> Result<Self> {
        let Some(task) = task else {
            return Ok(match (loss, net) {
                (Losses::BinaryCrossEntropy, _) => Self::AtLeast(0.0),
                (_, Nets::Transformer) => Self::LargestLast,
                _ => Self::Largest,
            });
        };
        let kind = task.kind();
        if matches!(net, Nets::Transformer | Nets::Vit) {
            return Err(Error::configuration(format!(
                "a {kind} task needs outputs `[N, C]`, those of net `{net}` have another shape"
            )));
        }
        let (losses, decoding): (&[Losses], _) = match kind {
            TaskKind::Categorical => (
                &[Losses::CrossEntropy, Losses::NegativeLogLikelihood],
                Self::Largest,
            ),
            TaskKind::Multilabel => (
                &[Losses::BinaryCrossEntropy],
                Self::AtLeast(logit(task.threshold())),
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

    /// Decodes logits that are on the CPU.
    ///
    /// # Errors
    /// When the logits do not have the axis of the classes.
    pub(crate) fn classes(self, logits: &Tensor) -> Result<Tensor> {
        Ok(match self {
            Self::Largest => largest(logits, 1)?,
            Self::LargestLast => largest(logits, logits.rank().saturating_sub(1))?,
            Self::AtLeast(least) => at_least(logits, least)?,
            Self::Values => logits.clone(),
        })
    }
}

/// The logit of a probability, rounded to float32, in which PyTorch compares it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "PyTorch compares float32 logits with a float32 threshold"
)]
pub(crate) fn logit(probability: f64) -> f32 {
    (probability / (1.0 - probability)).ln() as f32
}

/// 1 where the logit is at least `least`, otherwise 0.
///
/// # Errors
/// When candle fails.
pub(crate) fn at_least(logits: &Tensor, least: f32) -> Result<Tensor> {
    Ok(logits.ge(least)?.to_dtype(DType::I64)?)
}

/// The index of the largest element along an axis, as `torch.argmax` gives it: the first of equal
/// elements, and NaN counts as larger than every number.
///
/// # Errors
/// When the logits have no such axis.
pub(crate) fn largest(logits: &Tensor, axis: usize) -> Result<Tensor> {
    let classes = logits.dim(axis)?;
    let mut axes: Vec<usize> = (0..logits.rank()).filter(|one| *one != axis).collect();
    let shape: Vec<usize> = axes.iter().map(|one| logits.dims()[*one]).collect();
    axes.push(axis);
    let values = logits.permute(axes)?.flatten_all()?.to_vec1::<f32>()?;
    let indices: Vec<i64> = values.chunks(classes.max(1)).map(first_largest).collect();
    Ok(Tensor::from_vec(indices, shape, &Device::Cpu)?)
}

/// The index of the largest number: the first of equal ones, and NaN counts as larger than all.
pub(crate) fn first_largest(row: &[f32]) -> i64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f32 = f32::NAN;

    #[track_caller]
    fn check(decoding: Decoding, logits: &[[f32; 3]], expected: &[i64]) {
        let logits = Tensor::from_slice(logits.as_flattened(), (logits.len(), 3), &Device::Cpu);
        let logits = logits.unwrap();
        let classes = decoding.classes(&logits).unwrap();
        assert_eq!(
            classes.flatten_all().unwrap().to_vec1::<i64>().unwrap(),
            expected
        );
    }

    #[test]
    fn the_first_of_the_largest_wins() {
        // torch.argmax(…, 1)
        check(
            Decoding::Largest,
            &[[0.0, -1.0, 2.0], [2.0, 2.0, -3.0]],
            &[2, 0],
        );
        check(
            Decoding::Largest,
            &[[1.0, NAN, 3.0], [NAN, NAN, 9.0]],
            &[1, 0],
        );
        check(Decoding::Largest, &[[f32::NEG_INFINITY; 3]], &[0]);
    }

    #[test]
    fn the_largest_is_sought_along_axis_1() {
        // torch.argmax(torch.tensor([[[1., 5.], [3., 5.]], [[0., nan], [-1., 9.]]]), 1)
        let logits: [[[f32; 2]; 2]; 2] = [[[1.0, 5.0], [3.0, 5.0]], [[0.0, NAN], [-1.0, 9.0]]];
        let logits = Tensor::new(&logits, &Device::Cpu).unwrap();
        let classes = Decoding::Largest.classes(&logits).unwrap();
        assert_eq!(classes.to_vec2::<i64>().unwrap(), [[1, 0], [0, 0]]);
    }

    #[test]
    fn binary_cross_entropy_reads_each_logit() {
        let decoding = Decoding::new(Nets::FeedFwd, Losses::BinaryCrossEntropy, None, 3).unwrap();
        check(
            decoding,
            &[[0.0, -1.0, 2.0], [-0.0, NAN, -1e-9]],
            &[1, 0, 1, 1, 0, 0],
        );
    }

    /// The least logit that `NNModel.predict` of NNx 0.4.1 reads as 1 under that threshold, found
    /// by stepping with `torch.nextafter`.
    #[track_caller]
    fn check_threshold(threshold: f64, least: u32) {
        let task = TaskSpec::builder(TaskKind::Multilabel)
            .threshold(threshold)
            .build()
            .unwrap();
        let decoding =
            Decoding::new(Nets::FeedFwd, Losses::BinaryCrossEntropy, Some(&task), 3).unwrap();
        let below = if f32::from_bits(least) > 0.0 {
            least - 1
        } else {
            least + 1
        };
        let logits = [f32::from_bits(below), f32::from_bits(least), 99.0];
        check(decoding, &[logits], &[0, 1, 1]);
    }

    #[test]
    fn a_threshold_is_compared_as_a_float32_logit() {
        check_threshold(0.9, 0x400c_9f54);
        check_threshold(0.7, 0x3f58_e883);
        check_threshold(0.3, 0xbf58_e883);
        check_threshold(0.1, 0xc00c_9f54);
    }

    #[test]
    fn regression_gives_the_logits() {
        let task = TaskSpec::builder(TaskKind::Regression).build().unwrap();
        let decoding =
            Decoding::new(Nets::FeedFwd, Losses::MeanSquaredError, Some(&task), 2).unwrap();
        let logits = Tensor::new(&[[0.5_f32, -1.5]], &Device::Cpu).unwrap();
        let classes = decoding.classes(&logits).unwrap();
        assert_eq!(classes.to_vec2::<f32>().unwrap(), [[0.5, -1.5]]);
    }

    /// Compares with the losses that NNModel of NNx 0.4.1 accepts for a task; it raises
    /// `TaskValidationError` for the others.
    #[track_caller]
    fn check_losses(kind: TaskKind, accepted: &[Losses]) {
        let task = TaskSpec::builder(kind).build().unwrap();
        for loss in Losses::all() {
            let decoding = Decoding::new(Nets::FeedFwd, *loss, Some(&task), 3);
            assert_eq!(
                decoding.is_ok(),
                accepted.contains(loss),
                "{kind} with {loss}"
            );
        }
    }

    #[test]
    fn a_task_needs_its_loss() {
        check_losses(
            TaskKind::Categorical,
            &[Losses::CrossEntropy, Losses::NegativeLogLikelihood],
        );
        check_losses(TaskKind::Multilabel, &[Losses::BinaryCrossEntropy]);
        check_losses(TaskKind::Regression, &[Losses::MeanSquaredError]);
    }

    #[test]
    fn a_task_needs_its_number_of_outputs() {
        let task = TaskSpec::builder(TaskKind::Categorical)
            .num_outputs(2)
            .build()
            .unwrap();
        let loss = Losses::CrossEntropy;
        assert_eq!(
            Decoding::new(Nets::FeedFwd, loss, Some(&task), 2).unwrap(),
            Decoding::Largest
        );
        assert_eq!(
            Decoding::new(Nets::FeedFwd, loss, Some(&task), 3)
                .unwrap_err()
                .to_string(),
            "the categorical task declares `2` outputs, the net has `3`"
        );
    }
}
