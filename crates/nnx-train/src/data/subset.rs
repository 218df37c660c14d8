//! Some samples of a data set.

use std::fmt;
use std::sync::Arc;

use nnx_net::Batch;

use super::dataset::Dataset;
use crate::error::{Error, Result};

/// Samples of another data set, in an order of their own: `torch.utils.data.Subset`.
///
/// ```
/// use std::sync::Arc;
///
/// use candle_core::{Device, Tensor};
/// use nnx_train::{Dataset, Subset, TensorDataset};
///
/// let inputs = Tensor::new(&[[1_f32], [2.0], [3.0]], &Device::Cpu)?;
/// let targets = Tensor::new(&[0_i64, 1, 0], &Device::Cpu)?;
/// let all = Arc::new(TensorDataset::new([inputs], targets)?);
/// let some = Subset::new(all, vec![2, 0])?;
/// assert_eq!(some.batch(&[0, 1])?.inputs[0].to_vec2::<f32>()?, [[3.0], [1.0]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Subset {
    of: Arc<dyn Dataset>,
    rows: Vec<usize>,
}

impl Subset {
    /// The samples of those numbers.
    ///
    /// # Errors
    /// When the data set has no such sample.
    pub fn new(of: Arc<dyn Dataset>, rows: Vec<usize>) -> Result<Self> {
        if let Some(row) = rows.iter().find(|row| **row >= of.rows()) {
            return Err(Error::data(format!(
                "sample `{row}` is not one of `{}`",
                of.rows()
            )));
        }
        Ok(Self { of, rows })
    }
}

impl Dataset for Subset {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn batch(&self, rows: &[usize]) -> Result<Batch> {
        let of = rows.iter().map(|row| {
            let row = self.rows.get(*row).copied();
            row.ok_or_else(|| {
                Error::data(format!(
                    "a part of `{}` samples has no other",
                    self.rows.len()
                ))
            })
        });
        self.of.batch(&of.collect::<Result<Vec<_>>>()?)
    }
}

impl fmt::Debug for Subset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subset")
            .field("rows", &self.rows.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tokens::TokenWindows;

    #[test]
    fn other_samples_are_refused() {
        let all: Arc<dyn Dataset> = Arc::new(TokenWindows::new(vec![1, 2, 3], 1).unwrap());
        let error = Subset::new(all.clone(), vec![0, 2]).unwrap_err();
        assert_eq!(error.to_string(), "sample `2` is not one of `2`");
        let some = Subset::new(all, vec![1]).unwrap();
        assert_eq!(some.rows(), 1);
        assert!(some.batch(&[1]).is_err());
    }
}
