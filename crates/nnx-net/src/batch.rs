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
    /// The inputs; [`Inputs`](crate::Inputs) lists those of each net.
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

    /// The number of samples: the seeds of a part of a graph, otherwise the rows of the first input.
    pub fn samples(&self) -> usize {
        let rows = || self.inputs.first()?.dims().first().copied();
        self.seeds.or_else(rows).unwrap_or_default()
    }

    /// Sets [`seeds`](Self::seeds).
    #[must_use]
    pub fn seeds(mut self, count: impl Into<Option<usize>>) -> Self {
        self.seeds = count.into();
        self
    }
}

/// The output of a net for a batch, as the loss and the metrics need it: the tokens of a
/// transformer are rows, and of a part of a graph only the seeds are left.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BatchOutput {
    /// The logits. Those of a forward pass in training can be differentiated.
    pub logits: Tensor,
    /// The targets, on the device of the logits.
    pub targets: Tensor,
    /// For each layer of experts how unevenly they were used; see
    /// [`Net::forward_balanced`](crate::Net::forward_balanced).
    pub balances: Vec<Tensor>,
}

impl BatchOutput {
    /// Logits and targets, as they are.
    pub fn new(logits: Tensor, targets: Tensor) -> Self {
        Self {
            logits,
            targets,
            balances: Vec::new(),
        }
    }
}
