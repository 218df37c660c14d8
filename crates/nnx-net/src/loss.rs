//! The four losses, as NNx 0.4.1 computes them.

use candle_core::{DType, Tensor};
use nnx_params::Losses;

use crate::error::{Error, Result};
use crate::inputs::dtype_name;
use crate::kernels::cpu::Cpu;
use crate::kernels::cross_entropy::{chosen, cross_entropy, log_softmax};

/// The loss of a batch, in a form that adds up over batches of unequal size.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LossTerms {
    /// The mean over the targets that count, a scalar; NaN if no target counts.
    pub loss: Tensor,
    /// The mean times the weight, a scalar; 0 if no target counts.
    pub numerator: Tensor,
    /// The number of targets that count, or of elements for losses of elements.
    pub weight: f64,
}

/// The input of the negative log-likelihood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NllInput {
    /// The logarithm of the softmax, as in NNx 0.4.1.
    #[default]
    LogSoftmax,
    /// The logits, as in NNx 0.2.3, which treats them as logarithms of probabilities.
    Logits,
}

/// The class index of a target that does not count.
pub const IGNORE_INDEX: i64 = -100;

/// The loss of logits with the classes along axis 1. It can be differentiated.
///
/// | loss | targets |
/// |---|---|
/// | `cross_entropy` | integer class indices `[N, …]`, or float probabilities in the logits' shape |
/// | `negative_log_likelihood` | integer class indices `[N, …]` |
/// | `mean_squared_error` | numbers whose shape broadcasts with that of the logits |
/// | `binary_cross_entropy` | floats in the logits' shape |
///
/// A target of [`IGNORE_INDEX`] does not count.
///
/// # Errors
/// When the targets do not fit the logits.
pub fn loss_terms(
    loss: Losses,
    logits: &Tensor,
    targets: &Tensor,
    nll: NllInput,
) -> Result<LossTerms> {
    match loss {
        Losses::CrossEntropy if targets.dtype().is_float() => probabilities(logits, targets),
        Losses::CrossEntropy => classes(loss, logits, targets, NllInput::LogSoftmax),
        Losses::NegativeLogLikelihood => classes(loss, logits, targets, nll),
        Losses::MeanSquaredError => squares(logits, targets),
        Losses::BinaryCrossEntropy => binary(logits, targets),
    }
}

/// The loss against class indices.
fn classes(loss: Losses, logits: &Tensor, targets: &Tensor, input: NllInput) -> Result<LossTerms> {
    let (count, places) = without_classes(loss, logits)?;
    if targets.dims() != places {
        return Err(mismatch(
            loss,
            &format!("class indices of shape `{places:?}`"),
            targets,
        ));
    }
    let class = |index: i64| {
        if index == IGNORE_INDEX {
            return Ok(None);
        }
        let class = u32::try_from(index).ok().filter(|_| index < wide(count));
        class.map(Some).ok_or_else(|| {
            let last = count.saturating_sub(1);
            Error::target(
                loss,
                format!("class indices from `0` to `{last}`, or `{IGNORE_INDEX}`"),
                format!("the index `{index}`"),
            )
        })
    };
    let indices = class_indices(loss, targets)?;
    let classes: Vec<Option<u32>> = indices.into_iter().map(class).collect::<Result<_>>()?;
    let weight = classes.iter().flatten().count();
    if weight == 0 {
        return nothing(logits);
    }
    let table = classes_last(logits)?.reshape(((), count))?;
    let sum = match input {
        NllInput::LogSoftmax => cross_entropy(Cpu::new(), &table, classes)?,
        NllInput::Logits => chosen(&table, &classes)?.neg()?.sum_all()?,
    };
    mean_of(&sum, weight)
}

/// The loss against probabilities of the classes.
fn probabilities(logits: &Tensor, targets: &Tensor) -> Result<LossTerms> {
    let loss = Losses::CrossEntropy;
    let (_, places) = without_classes(loss, logits)?;
    if targets.dims() != logits.dims() {
        let expected = format!("class probabilities of shape `{:?}`", logits.dims());
        return Err(mismatch(loss, &expected, targets));
    }
    let targets = classes_last(&targets.to_dtype(DType::F32)?)?;
    let logs = log_softmax(&classes_last(logits)?)?;
    mean_of(
        &(logs * targets)?.neg()?.sum_all()?,
        places.iter().product(),
    )
}

fn squares(logits: &Tensor, targets: &Tensor) -> Result<LossTerms> {
    let loss = Losses::MeanSquaredError;
    let shape = logits
        .shape()
        .broadcast_shape_binary_op(targets.shape(), "mean_squared_error")
        .map_err(|_| {
            let expected = format!("targets that broadcast with `{:?}`", logits.dims());
            mismatch(loss, &expected, targets)
        })?;
    let targets = targets.to_dtype(DType::F32)?;
    let differences = logits.broadcast_sub(&targets)?;
    mean_of(&differences.sqr()?.sum_all()?, shape.elem_count())
}

fn binary(logits: &Tensor, targets: &Tensor) -> Result<LossTerms> {
    let loss = Losses::BinaryCrossEntropy;
    if !targets.dtype().is_float() || targets.dims() != logits.dims() {
        let expected = format!("float targets of shape `{:?}`", logits.dims());
        return Err(mismatch(loss, &expected, targets));
    }
    let elements = binary_elements(logits, &targets.to_dtype(DType::F32)?)?;
    mean_of(&elements.sum_all()?, logits.elem_count())
}

/// `(1 - t) · x + ln(1 + e^-x)` for each element.
///
/// # Errors
/// When candle fails.
pub(crate) fn binary_elements(logits: &Tensor, targets: &Tensor) -> Result<Tensor> {
    let (is_negative, zeros) = (logits.lt(0.0)?, logits.zeros_like()?);
    let negated = logits.neg()?;
    // -|x| by two branches, so that the gradient at zero is that of the positive side.
    let power = is_negative.where_cond(logits, &negated)?.exp()?;
    let sum = power.affine(1.0, 1.0)?;
    // Adds what rounding has removed from 1 + e^-|x|, which keeps the digits of very small losses.
    let lost = ((&power - sum.affine(1.0, -1.0)?)? / &sum)?;
    let curved = (sum.log()? + lost)?;
    let softplus = (is_negative.where_cond(&negated, &zeros)? + curved)?;
    Ok((targets.affine(-1.0, 1.0)? * logits)?.add(&softplus)?)
}

/// The number of classes, and the shape of the targets.
fn without_classes(loss: Losses, logits: &Tensor) -> Result<(usize, Vec<usize>)> {
    match logits.dims() {
        [count, classes, rest @ ..] => {
            let places = std::iter::once(count).chain(rest).copied().collect();
            Ok((*classes, places))
        }
        dims => Err(Error::configuration(format!(
            "the loss `{loss}` needs logits with classes along axis 1, the net gives `{dims:?}`"
        ))),
    }
}

/// The logits with the classes along the last axis.
///
/// # Errors
/// When candle fails.
pub(crate) fn classes_last(logits: &Tensor) -> Result<Tensor> {
    let rank = logits.rank();
    if rank == 2 {
        return Ok(logits.clone());
    }
    let axes: Vec<usize> = (0..rank).filter(|axis| *axis != 1).chain([1]).collect();
    Ok(logits.permute(axes)?.contiguous()?)
}

/// The class indices in row-major order.
///
/// # Errors
/// When the targets are not integers.
pub(crate) fn class_indices(loss: Losses, targets: &Tensor) -> Result<Vec<i64>> {
    if targets.dtype().is_float() {
        return Err(mismatch(loss, "integer class indices", targets));
    }
    Ok(targets
        .flatten_all()?
        .to_dtype(DType::I64)?
        .to_vec1::<i64>()?)
}

/// # Errors
/// When candle fails.
#[expect(clippy::cast_precision_loss, reason = "PyTorch divides in float32 too")]
pub(crate) fn mean_of(sum: &Tensor, weight: usize) -> Result<LossTerms> {
    let weight = weight as f64;
    // A division of tensors: candle multiplies by the rounded inverse of a number.
    let loss = (sum / Tensor::new(weight, sum.device())?.to_dtype(sum.dtype())?)?;
    Ok(LossTerms {
        numerator: (&loss * weight)?,
        loss,
        weight,
    })
}

/// The terms of a batch in which no target counts.
///
/// # Errors
/// When candle fails.
pub(crate) fn nothing(logits: &Tensor) -> Result<LossTerms> {
    let zero = (logits.sum_all()? * 0.0)?;
    Ok(LossTerms {
        loss: (&zero + f64::NAN)?,
        numerator: zero,
        weight: 0.0,
    })
}

fn wide(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cold]
fn mismatch(loss: Losses, expected: &str, targets: &Tensor) -> Error {
    let found = format!(
        "{} of shape `{:?}`",
        dtype_name(targets.dtype()),
        targets.dims()
    );
    Error::target(loss, expected, found)
}

#[cfg(test)]
mod tests;
