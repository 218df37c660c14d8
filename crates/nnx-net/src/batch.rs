//! Samples with their targets.

use candle_core::Tensor;

/// The inputs of a net, and the targets for their outputs.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use nnx_net::Batch;
///
/// let inputs = Tensor::new(&[[1_f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let batch = Batch::new([inputs], Tensor::new(&[0_i64, 1], &Device::Cpu)?);
/// assert_eq!(batch.seeds, None);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Batch {
    /// The inputs; see [`Inputs`](crate::Inputs) for what each net takes.
    pub inputs: Vec<Tensor>,
    /// The targets, one row per sample.
    pub targets: Tensor,
    /// For a part of a graph from a neighbour loader: only the first `seeds` nodes count. They are the
    /// nodes that the loader was asked for; the others are their neighbours, which can belong to
    /// another split. Default: all rows count.
    pub seeds: Option<usize>,
}

impl Batch {
    /// A batch whose rows all count.
    pub fn new(inputs: impl IntoIterator<Item = Tensor>, targets: Tensor) -> Self {
        Self {
            inputs: inputs.into_iter().collect(),
            targets,
            seeds: None,
        }
    }

    /// Sets [`seeds`](Self::seeds).
    #[must_use]
    pub fn seeds(mut self, count: impl Into<Option<usize>>) -> Self {
        self.seeds = count.into();
        self
    }
}
