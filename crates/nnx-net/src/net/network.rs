//! The trait of all nets.

use std::fmt::Debug;

use candle_core::Tensor;
use nnx_params::Nets;

use crate::error::{Error, Result};
use crate::key_value_cache::KeyValueCache;
use crate::mode::Mode;
use crate::parameters::Parameters;

/// A network: named parameters and a forward pass.
pub trait Net: Debug + Send + Sync {
    /// The kind of the net.
    fn kind(&self) -> Nets;

    /// The parameters, with the names and in the order of Python's state dict.
    fn parameters(&self) -> &Parameters;

    /// Runs the net on its positional arguments, which must be on the device of the parameters;
    /// [`Inputs`](crate::Inputs) lists those of each net.
    ///
    /// # Errors
    /// When the arguments are not valid inputs of the net, or the computation fails.
    fn forward(&self, inputs: &[Tensor], mode: &mut Mode<'_>) -> Result<Tensor>;

    /// [`forward`](Self::forward), and for each layer of experts how unevenly they were used: Python's
    /// `last_aux_loss`, a scalar that is 1 if all experts are used equally.
    ///
    /// The list is empty for a net without experts.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    fn forward_balanced(
        &self,
        inputs: &[Tensor],
        mode: &mut Mode<'_>,
    ) -> Result<(Tensor, Vec<Tensor>)> {
        Ok((self.forward(inputs, mode)?, Vec::new()))
    }

    /// The logits of tokens that follow those in the cache, in evaluation mode.
    ///
    /// # Errors
    /// When the net is not a transformer, the tokens are not valid inputs, or the tokens and those in
    /// the cache are more than the net's `max_seq_len`.
    fn forward_with_cache(&self, tokens: &Tensor, cache: &mut KeyValueCache) -> Result<Tensor> {
        let (_, _) = (tokens, cache);
        Err(Error::unsupported(format!(
            "net `{}` has no cache of keys and values, only `{}` has",
            self.kind(),
            Nets::Transformer
        )))
    }
}
