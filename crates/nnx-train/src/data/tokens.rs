//! Sequences of tokens for a language model.

use candle_core::{Device, Tensor};
use nnx_net::Batch;

use super::dataset::Dataset;
use crate::error::{Error, Result};

/// A text of tokens, cut into windows: for each token of a window the target is the token after it.
///
/// ```
/// use nnx_train::{Dataset, TokenWindows};
///
/// let data = TokenWindows::new(vec![5, 6, 7, 8, 9], 2)?;
/// assert_eq!(data.rows(), 2);
/// let batch = data.batch(&[0, 1])?;
/// assert_eq!(batch.inputs[0].to_vec2::<i64>().unwrap(), [[5, 6], [7, 8]]);
/// assert_eq!(batch.targets.to_vec2::<i64>().unwrap(), [[6, 7], [8, 9]]);
/// # Ok::<(), nnx_train::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TokenWindows {
    tokens: Vec<i64>,
    length: usize,
    stride: usize,
}

impl TokenWindows {
    /// Windows of that length, one after the other.
    ///
    /// # Errors
    /// When a window would have no token, or there is no token after the first window.
    pub fn new(tokens: Vec<i64>, length: usize) -> Result<Self> {
        if length == 0 {
            return Err(Error::configuration(
                "a window has a length of at least `1`, got `0`",
            ));
        }
        if tokens.len() <= length {
            return Err(Error::data(format!(
                "expected more tokens than a window of `{length}` has, found `{}`",
                tokens.len()
            )));
        }
        Ok(Self {
            tokens,
            length,
            stride: length,
        })
    }

    /// How many tokens after another a window begins, at least 1. Default: its length.
    #[must_use]
    pub fn stride(mut self, stride: usize) -> Self {
        self.stride = stride.max(1);
        self
    }
}

impl Dataset for TokenWindows {
    fn rows(&self) -> usize {
        (self.tokens.len() - self.length - 1) / self.stride + 1
    }

    fn batch(&self, rows: &[usize]) -> Result<Batch> {
        let (mut inputs, mut targets) = (Vec::new(), Vec::new());
        for row in rows {
            let window = { row.checked_mul(self.stride) }
                .and_then(|start| self.tokens.get(start..)?.get(..=self.length));
            let Some([first, between @ .., last]) = window else {
                return Err(Error::data(format!(
                    "window `{row}` is not one of `{}`",
                    self.rows()
                )));
            };
            inputs.push(*first);
            inputs.extend(between);
            targets.extend(between);
            targets.push(*last);
        }
        let shape = (rows.len(), self.length);
        let tensor = |tokens| Tensor::from_vec(tokens, shape, &Device::Cpu);
        Ok(Batch::new([tensor(inputs)?], tensor(targets)?))
    }
}

/// Sequences `[N, T + 1]` as inputs and targets `[N, T]`: the target of a token is the one after it.
///
/// # Errors
/// When the sequences have another shape, or fewer than two tokens.
pub(super) fn shifted(sequences: &Tensor) -> Result<(Tensor, Tensor)> {
    let length = match sequences.dims() {
        &[_, length] if length > 1 => length,
        dims => {
            return Err(Error::data(format!(
                "expected sequences `[N, T]` of at least two tokens, found the shape `{dims:?}`"
            )));
        }
    };
    let part = |start| sequences.narrow(1, start, length - 1)?.contiguous();
    Ok((part(0)?, part(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_may_overlap() {
        let data = TokenWindows::new((0..7).collect(), 3).unwrap().stride(1);
        assert_eq!(data.rows(), 4);
        let batch = data.batch(&[3]).unwrap();
        assert_eq!(batch.inputs[0].to_vec2::<i64>().unwrap(), [[3, 4, 5]]);
        assert_eq!(batch.targets.to_vec2::<i64>().unwrap(), [[4, 5, 6]]);
        assert!(data.batch(&[4]).is_err());
        assert!(data.batch(&[usize::MAX]).is_err());
        assert_eq!(
            TokenWindows::new(vec![1, 2], 1).unwrap().stride(0).rows(),
            1
        );
    }

    #[test]
    fn too_few_tokens_are_refused() {
        assert!(TokenWindows::new(vec![1, 2, 3], 0).is_err());
        let error = TokenWindows::new(vec![1, 2, 3], 3).unwrap_err();
        let expected = "expected more tokens than a window of `3` has, found `3`";
        assert_eq!(error.to_string(), expected);
        for shape in [&[3][..], &[3, 1], &[3, 2, 2]] {
            let tokens = Tensor::zeros(shape, candle_core::DType::I64, &Device::Cpu).unwrap();
            assert!(shifted(&tokens).is_err(), "{shape:?}");
        }
    }
}
