//! The parts of an objective's loss.

use candle_core::{DType, Tensor};

use crate::error::{Error, Result};

/// One named part of an objective's loss for one batch: a sum over samples and what it is divided by.
///
/// Over a window of batches the sums are added, the denominators are added, and then they are
/// divided, so that each sample weighs alike whatever batch it is in.
#[derive(Clone, Debug)]
pub struct LossTerm {
    name: String,
    numerator: Tensor,
    denominator: Option<f64>,
    weight: f64,
    value: f64,
}

impl LossTerm {
    /// A mean: the scalar `numerator` is the sum over `denominator` samples, 0 if no sample counts.
    ///
    /// # Errors
    /// When the numerator is not a scalar, the denominator not a finite number from 0, or the name
    /// empty.
    pub fn mean(name: &str, numerator: &Tensor, denominator: f64) -> Result<Self> {
        if !(denominator.is_finite() && denominator >= 0.0) {
            return Err(Error::configuration(format!(
                "the term `{name}` needs a finite denominator from 0, got `{denominator}`"
            )));
        }
        Self::new(name, numerator, Some(denominator))
    }

    /// A sum, which is not divided.
    ///
    /// # Errors
    /// When the numerator is not a scalar, or the name empty.
    pub fn sum(name: &str, numerator: &Tensor) -> Result<Self> {
        Self::new(name, numerator, None)
    }

    fn new(name: &str, numerator: &Tensor, denominator: Option<f64>) -> Result<Self> {
        if numerator.elem_count() != 1 || name.is_empty() {
            return Err(Error::configuration(format!(
                "a term needs a name and a scalar, got `{name}` and the shape `{:?}`",
                numerator.dims()
            )));
        }
        let numerator = numerator.flatten_all()?.get(0)?;
        let value = numerator.detach().to_dtype(DType::F64)?.to_scalar()?;
        Ok(Self {
            name: name.to_owned(),
            numerator,
            denominator,
            weight: 1.0,
            value,
        })
    }

    /// Sets the factor of the term in the loss. Default: 1.
    #[must_use]
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The term of this batch alone; `None` if no sample counts.
    pub fn value(&self) -> Option<f64> {
        match self.denominator {
            None => Some(self.value),
            Some(0.0) => None,
            Some(denominator) => Some(self.value / denominator),
        }
    }

    pub(crate) fn numerator(&self) -> &Tensor {
        &self.numerator
    }

    pub(crate) fn numerator_value(&self) -> f64 {
        self.value
    }

    pub(crate) fn denominator(&self) -> Option<f64> {
        self.denominator
    }

    pub(crate) fn factor(&self) -> f64 {
        self.weight
    }
}

/// The weighted sum of the terms that have a value; `None` if none has.
pub(crate) fn total<'a>(terms: impl IntoIterator<Item = &'a LossTerm>) -> Option<f64> {
    let values = terms.into_iter();
    let values = values.filter_map(|term| term.value().map(|value| term.weight * value));
    values.fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
}
