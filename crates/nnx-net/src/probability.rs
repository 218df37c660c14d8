//! From logits to probabilities.

use candle_core::{DType, Device, Tensor};

use crate::error::{Error, Result};
use crate::predict::{at_least, largest};

/// How logits become probabilities. It must be declared; it is not guessed from the logits.
///
/// ```
/// use nnx_net::ProbabilitySpec;
///
/// let classes = ProbabilitySpec::categorical();
/// let words = ProbabilitySpec::categorical().class_axis(-1);
/// let topics = ProbabilitySpec::bernoulli().labels(["sports", "politics"]);
/// # let _ = (classes, words, topics);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ProbabilitySpec {
    distribution: Distribution,
    class_axis: isize,
    labels: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Distribution {
    /// Mutually exclusive classes: softmax; the largest logit is decoded.
    Categorical,
    /// Independent outputs: sigmoid; an output is 1 from the logit `least` on.
    Bernoulli { least: f32 },
}

/// The prediction of a model for a batch, with probabilities; all tensors are on the CPU.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PredictionResult {
    /// The outputs of the net, float32.
    pub logits: Tensor,
    /// The probabilities in the shape of the logits; `None` for a regression.
    pub probabilities: Option<Tensor>,
    /// Categorical: the class of each row, int64. Bernoulli: 0 or 1 for each logit, int64.
    /// Regression: the values.
    pub decoded: Tensor,
}

impl ProbabilitySpec {
    /// Mutually exclusive classes: softmax over the class axis, which is the last one by default.
    pub fn categorical() -> Self {
        Self {
            distribution: Distribution::Categorical,
            class_axis: -1,
            labels: None,
        }
    }

    /// Independent outputs: sigmoid of each.
    pub fn bernoulli() -> Self {
        Self::bernoulli_from(0.0)
    }

    /// Independent outputs, decoded as 1 from that logit on.
    pub(crate) fn bernoulli_from(least: f32) -> Self {
        Self {
            distribution: Distribution::Bernoulli { least },
            ..Self::categorical()
        }
    }

    /// The axis of the classes or outputs; a negative one counts from the end. Default: -1.
    #[must_use]
    pub fn class_axis(mut self, axis: isize) -> Self {
        self.class_axis = axis;
        self
    }

    /// The names of the entries of that axis; their number is checked. Default: none.
    #[must_use]
    pub fn labels<T: Into<String>>(mut self, labels: impl IntoIterator<Item = T>) -> Self {
        self.labels = Some(labels.into_iter().map(Into::into).collect());
        self
    }

    /// The probabilities of logits that are on the CPU.
    ///
    /// # Errors
    /// When the class axis does not exist or is that of the samples, its size is not the number of the
    /// labels, there is only one class, or a logit is not finite.
    pub(crate) fn apply(&self, logits: Tensor) -> Result<PredictionResult> {
        let axis = self.axis(&logits)?;
        let values = logits.flatten_all()?.to_vec1::<f32>()?;
        let odd = values.iter().filter(|value| !value.is_finite()).count();
        if odd > 0 {
            return Err(Error::configuration(format!(
                "probabilities need finite logits, `{odd}` of them are not"
            )));
        }
        let (probabilities, decoded) = match self.distribution {
            Distribution::Categorical => (softmax(&logits, axis)?, largest(&logits, axis)?),
            Distribution::Bernoulli { least } => {
                let values: Vec<f32> = values.into_iter().map(sigmoid).collect();
                let values = Tensor::from_vec(values, logits.shape(), &Device::Cpu)?;
                (values, at_least(&logits, least)?)
            }
        };
        Ok(PredictionResult {
            logits,
            probabilities: Some(probabilities),
            decoded,
        })
    }

    fn axis(&self, logits: &Tensor) -> Result<usize> {
        let (rank, given) = (logits.rank(), self.class_axis);
        let axis = if given < 0 {
            rank.checked_add_signed(given)
        } else {
            usize::try_from(given).ok()
        };
        let Some(axis) = axis.filter(|axis| (1..rank).contains(axis)) else {
            return Err(Error::configuration(format!(
                "the class axis `{given}` is not an axis after that of the samples in logits `{:?}`",
                logits.dims()
            )));
        };
        let count = logits.dim(axis)?;
        if let Some(labels) = &self.labels
            && labels.len() != count
        {
            return Err(Error::configuration(format!(
                "`{}` labels do not name the `{count}` entries of class axis `{given}`",
                labels.len()
            )));
        }
        if self.distribution == Distribution::Categorical && count < 2 {
            return Err(Error::configuration(format!(
                "mutually exclusive classes need at least `2` entries on the class axis, got `{count}`"
            )));
        }
        Ok(axis)
    }
}

fn softmax(logits: &Tensor, axis: usize) -> Result<Tensor> {
    let shifted = logits.broadcast_sub(&logits.max_keepdim(axis)?)?;
    let powers = shifted.exp()?;
    Ok(powers
        .broadcast_div(&powers.sum_keepdim(axis)?)?
        .to_dtype(DType::F32)?)
}

fn sigmoid(x: f32) -> f32 {
    let power = (-x.abs()).exp();
    if x >= 0.0 {
        1.0 / (1.0 + power)
    } else {
        power / (1.0 + power)
    }
}
