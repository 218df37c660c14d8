//! Samples in memory.

use candle_core::{Device, Tensor};
use nnx_net::Batch;

use super::dataset::Dataset;
use crate::error::{Error, Result};

/// Samples that are the rows of tensors, held on the CPU.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use nnx_train::{Dataset, TensorDataset};
///
/// let inputs = Tensor::new(&[[1_f32, 2.0], [3.0, 4.0], [5.0, 6.0]], &Device::Cpu)?;
/// let targets = Tensor::new(&[0_i64, 1, 0], &Device::Cpu)?;
/// let data = TensorDataset::new([inputs], targets)?;
/// let batch = data.batch(&[2, 0])?;
/// assert_eq!(batch.inputs[0].to_vec2::<f32>()?, [[5.0, 6.0], [1.0, 2.0]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TensorDataset {
    inputs: Vec<Tensor>,
    targets: Tensor,
    rows: usize,
}

impl TensorDataset {
    /// Samples whose number is that of the targets' rows.
    ///
    /// # Errors
    /// When a tensor has no rows, or another number of them.
    pub fn new(inputs: impl IntoIterator<Item = Tensor>, targets: Tensor) -> Result<Self> {
        let own = |tensor: &Tensor| -> Result<Tensor> {
            Ok(tensor.detach().to_device(&Device::Cpu)?.contiguous()?)
        };
        let inputs = inputs.into_iter().map(|input| own(&input));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        let targets = own(&targets)?;
        let rows = rows_of(&targets, "the targets")?;
        for input in &inputs {
            let found = rows_of(input, "the inputs")?;
            if found != rows {
                return Err(Error::data(format!(
                    "expected as many targets as samples, found `{rows}` for `{found}`"
                )));
            }
        }
        Ok(Self {
            inputs,
            targets,
            rows,
        })
    }

    /// The inputs.
    pub fn inputs(&self) -> &[Tensor] {
        &self.inputs
    }

    /// The targets.
    pub fn targets(&self) -> &Tensor {
        &self.targets
    }

    /// The samples of those numbers, in this order, copied. [`Subset`](crate::Subset) copies none.
    ///
    /// # Errors
    /// When there is no such sample.
    pub fn subset(&self, rows: &[usize]) -> Result<Self> {
        let batch = self.batch(rows)?;
        Self::new(batch.inputs, batch.targets)
    }
}

impl Dataset for TensorDataset {
    fn rows(&self) -> usize {
        self.rows
    }

    fn batch(&self, rows: &[usize]) -> Result<Batch> {
        let indices = { rows.iter() }.map(|row| {
            let inside = *row < self.rows;
            u32::try_from(*row)
                .ok()
                .filter(|_| inside)
                .ok_or_else(|| Error::data(format!("sample `{row}` is not one of `{}`", self.rows)))
        });
        let indices = indices.collect::<Result<Vec<u32>>>()?;
        let indices = Tensor::new(indices, &Device::Cpu)?;
        let inputs = { self.inputs.iter() }.map(|input| Ok(input.index_select(&indices, 0)?));
        let inputs = inputs.collect::<Result<Vec<_>>>()?;
        Ok(Batch::new(inputs, self.targets.index_select(&indices, 0)?))
    }
}

fn rows_of(tensor: &Tensor, what: &str) -> Result<usize> {
    let rows = tensor.dims().first().copied();
    rows.ok_or_else(|| Error::data(format!("{what} have no rows, they are one number")))
}

#[cfg(test)]
mod tests {
    use candle_core::DType;

    use super::*;

    #[test]
    fn samples_that_do_not_go_together_are_refused() {
        let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32, &Device::Cpu).unwrap();
        let error = TensorDataset::new([zeros(&[3, 2])], zeros(&[4])).unwrap_err();
        let expected = "expected as many targets as samples, found `4` for `3`";
        assert_eq!(error.to_string(), expected);
        assert!(TensorDataset::new([zeros(&[3])], zeros(&[])).is_err());
        let data = TensorDataset::new([zeros(&[3, 2])], zeros(&[3])).unwrap();
        let error = data.batch(&[0, 3]).unwrap_err();
        assert_eq!(error.to_string(), "sample `3` is not one of `3`");
        assert!(data.batch(&[usize::MAX]).is_err());
        assert_eq!(data.subset(&[1]).unwrap().rows(), 1);
    }
}
