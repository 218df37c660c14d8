//! The source of a loader's batches.

use nnx_net::Batch;

use crate::error::Result;

/// Samples that have numbers: the rows of tables, images, sequences of tokens.
///
/// A loader asks for batches on another thread, one ahead of the training; making a batch must not
/// depend on the batches before.
pub trait Dataset: Send + Sync {
    /// The number of samples.
    fn rows(&self) -> usize;

    /// The samples of those numbers, in this order.
    ///
    /// # Errors
    /// When there is no such sample, or it cannot be read.
    fn batch(&self, rows: &[usize]) -> Result<Batch>;
}
