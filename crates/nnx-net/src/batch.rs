//! Samples with what is true of them.

use candle_core::Tensor;

/// The inputs of a net, and the targets of their outputs.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use nnx_net::Batch;
///
/// let inputs = Tensor::new(&[[1_f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let batch = Batch::new([inputs], Tensor::new(&[0_i64, 1], &Device::Cpu)?);
/// assert_eq!(batch.seeds(), None);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Batch {
    inputs: Vec<Tensor>,
    targets: Tensor,
    seeds: Option<usize>,
}

impl Batch {
    /// A batch; see [`Inputs`](crate::Inputs) for what each net takes.
    pub fn new(inputs: impl IntoIterator<Item = Tensor>, targets: Tensor) -> Self {
        Self {
            inputs: inputs.into_iter().collect(),
            targets,
            seeds: None,
        }
    }

    /// A part of a graph that a neighbour loader cut out: its first nodes are those that were asked
    /// for, the others their neighbours, which may belong to another split. Only the first count.
    #[must_use]
    pub fn with_seeds(mut self, count: usize) -> Self {
        self.seeds = Some(count);
        self
    }

    /// The inputs.
    pub fn inputs(&self) -> &[Tensor] {
        &self.inputs
    }

    /// What is true, a row a sample.
    pub fn targets(&self) -> &Tensor {
        &self.targets
    }

    /// How many of the first rows count; none where all do.
    pub fn seeds(&self) -> Option<usize> {
        self.seeds
    }
}
