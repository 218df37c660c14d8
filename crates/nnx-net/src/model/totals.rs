//! The totals of an evaluation over batches.

use nnx_params::Labels;

use crate::error::Result;
use crate::loss::LossTerms;

/// Loss terms that add up over batches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TotalLoss {
    numerator: f64,
    weight: f64,
}

impl TotalLoss {
    pub(super) fn add(&mut self, terms: &LossTerms) -> Result<()> {
        self.numerator += f64::from(terms.numerator.to_scalar::<f32>()?);
        self.weight += terms.weight;
        Ok(())
    }

    /// NaN where nothing counts.
    pub(super) fn mean(self) -> f64 {
        self.numerator / self.weight
    }
}

/// Labels of batch after batch.
#[derive(Debug, Default)]
pub(super) struct CollectedLabels(Option<(Labels, Labels)>);

impl CollectedLabels {
    /// True and predicted labels; `None` before the first batch that has labels.
    pub(super) fn pair(&self) -> Option<&(Labels, Labels)> {
        self.0.as_ref()
    }

    /// [`pair`](Self::pair), owned.
    pub(super) fn into_pair(self) -> Option<(Labels, Labels)> {
        self.0
    }

    /// Appends the labels of a batch.
    ///
    /// # Errors
    /// When the labels are of another kind than those before.
    pub(super) fn add(&mut self, truth: Labels, predicted: Labels) -> Result<()> {
        match &mut self.0 {
            None => self.0 = Some((truth, predicted)),
            Some(all) => {
                all.0.extend(truth)?;
                all.1.extend(predicted)?;
            }
        }
        Ok(())
    }
}
