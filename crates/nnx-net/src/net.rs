//! The trait that all nets implement.

mod attention;
mod block;
pub(crate) mod build;
mod conv;
mod feed_fwd;
mod feed_fwd_moe;
mod graph;
mod graph_att;
mod graph_conv;
mod graph_sage;
mod hidden;
mod mlp;
mod rms_norm;
mod rope;
mod swiglu;
mod top_k;
mod transformer;
mod vit;

use std::fmt::Debug;

use candle_core::Tensor;
use nnx_params::Nets;

use crate::error::{Error, Result};
use crate::key_value_cache::KeyValueCache;
use crate::mode::Mode;
use crate::parameters::Parameters;

/// A network: parameters with names, and a computation.
pub trait Net: Debug + Send + Sync {
    /// Which net it is.
    fn kind(&self) -> Nets;

    /// The parameters, in the names and the order of Python's state dict.
    fn parameters(&self) -> &Parameters;

    /// Runs the net on its positional arguments, which must be on the device of the parameters; see
    /// [`Inputs`](crate::Inputs) for what each net takes.
    ///
    /// # Errors
    /// When the arguments are not what the net takes, or the computation fails.
    fn forward(&self, inputs: &[Tensor], mode: &mut Mode<'_>) -> Result<Tensor>;

    /// [`forward`](Self::forward), and how unevenly each layer of experts was used: Python's
    /// `last_aux_loss` of each, a scalar that is 1 where all experts are used alike.
    ///
    /// A net without experts gives none.
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

    /// The logits of tokens that follow those of the cache, in evaluation mode.
    ///
    /// # Errors
    /// When the net is no transformer, the tokens are not what it takes, or the cache and they are
    /// longer together than it can look back.
    fn forward_with_cache(&self, tokens: &Tensor, cache: &mut KeyValueCache) -> Result<Tensor> {
        let (_, _) = (tokens, cache);
        Err(Error::unsupported(format!(
            "net `{}` has no cache of keys and values, only `{}` has",
            self.kind(),
            Nets::Transformer
        )))
    }
}
