//! The parts of an objective's loss.

use candle_core::{DType, Tensor};

use crate::error::{Error, Result};

/// One named part of an objective's loss for one batch: a sum over samples and its denominator.
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
        divided(self.value, self.denominator)
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

    /// The factor of the numerator in the loss of this batch.
    pub(crate) fn scale(&self) -> f64 {
        scale(self.weight, self.denominator)
    }

    pub(crate) fn factor(&self) -> f64 {
        self.weight
    }
}

/// A term over several batches: its sums added, and its denominators.
#[derive(Clone, Debug)]
pub(crate) struct TermSum {
    pub(crate) name: String,
    pub(crate) weight: f64,
    numerator: f64,
    denominator: Option<f64>,
}

impl TermSum {
    /// Adds the terms of a batch to the sums of the same names; a name that is new begins a sum.
    pub(crate) fn add_all(sums: &mut Vec<Self>, terms: &[LossTerm]) {
        for term in terms {
            match sums.iter_mut().find(|sum| sum.name == term.name) {
                Some(sum) => sum.add(term),
                None => sums.push(Self::from(term)),
            }
        }
    }

    /// Adds the term of a batch.
    pub(crate) fn add(&mut self, term: &LossTerm) {
        self.numerator += term.value;
        if let (Some(sum), Some(more)) = (&mut self.denominator, term.denominator) {
            *sum += more;
        }
    }

    /// Whether the term of another batch is divided and weighed alike.
    pub(crate) fn matches(&self, term: &LossTerm) -> bool {
        self.denominator.is_some() == term.denominator.is_some() && self.weight == term.weight
    }

    /// The value over the batches; `None` if no sample counts.
    pub(crate) fn value(&self) -> Option<f64> {
        divided(self.numerator, self.denominator)
    }

    /// The factor of a numerator in the loss.
    pub(crate) fn scale(&self) -> f64 {
        scale(self.weight, self.denominator)
    }
}

impl From<&LossTerm> for TermSum {
    fn from(term: &LossTerm) -> Self {
        Self {
            name: term.name.clone(),
            weight: term.weight,
            numerator: term.value,
            denominator: term.denominator,
        }
    }
}

fn divided(numerator: f64, denominator: Option<f64>) -> Option<f64> {
    match denominator {
        None => Some(numerator),
        Some(0.0) => None,
        Some(denominator) => Some(numerator / denominator),
    }
}

fn scale(weight: f64, denominator: Option<f64>) -> f64 {
    denominator.map_or(weight, |denominator| weight / denominator)
}

/// The weighted sum of the terms of a batch that have a value; `None` if none has.
pub(crate) fn total(terms: &[LossTerm]) -> Option<f64> {
    weighted(terms.iter().map(|term| (term.weight, term.value())))
}

/// The weighted sum of the terms over several batches that have a value; `None` if none has.
pub(crate) fn total_of_sums<'a>(sums: impl IntoIterator<Item = &'a TermSum>) -> Option<f64> {
    weighted(sums.into_iter().map(|sum| (sum.weight, sum.value())))
}

fn weighted(terms: impl Iterator<Item = (f64, Option<f64>)>) -> Option<f64> {
    terms
        .filter_map(|(weight, value)| Some(weight * value?))
        .reduce(|sum, value| sum + value)
}
