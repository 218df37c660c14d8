//! The outputs of a batch, as loss and metrics see them.

use candle_core::{Device, Tensor};
use nnx_params::Nets;

use super::NNModel;
use crate::batch::{Batch, BatchOutput};
use crate::error::Result;
use crate::inputs::Inputs;
use crate::mode::Mode;

impl NNModel {
    /// Runs the net on a batch in training, whatever the model's mode: dropout draws from the model's
    /// [`generator`](Self::generator), and the logits can be differentiated. They stay on the model's
    /// device.
    ///
    /// # Errors
    /// When the inputs are not what the net takes, or the model's precision policy asks for less than
    /// float32.
    pub fn train_batch(&self, batch: &Batch) -> Result<BatchOutput> {
        self.full_precision()?;
        let inputs = self.inputs(Inputs::from(&batch.inputs))?;
        let targets = batch.targets.to_device(&self.device)?;
        let (logits, balances) = self
            .net
            .forward_balanced(&inputs, &mut Mode::Train(&mut self.generator()))?;
        let (logits, targets) = self.cut(logits, targets, batch.seeds)?;
        Ok(BatchOutput {
            balances,
            ..BatchOutput::new(logits, targets)
        })
    }

    /// Runs the net on a batch in evaluation, whatever the model's mode. The logits are on the CPU.
    ///
    /// # Errors
    /// As for [`train_batch`](Self::train_batch).
    pub fn evaluate_batch(&self, batch: &Batch) -> Result<BatchOutput> {
        self.full_precision()?;
        let inputs = self.inputs(Inputs::from(&batch.inputs))?;
        let logits = self.net.forward(&inputs, &mut Mode::Eval)?;
        let logits = logits.detach().to_device(&Device::Cpu)?;
        let targets = batch.targets.to_device(&Device::Cpu)?;
        let (logits, targets) = self.cut(logits, targets, batch.seeds)?;
        Ok(BatchOutput::new(logits, targets))
    }

    /// The logits that count and their targets; those of a transformer as rows.
    fn cut(
        &self,
        mut logits: Tensor,
        mut targets: Tensor,
        seeds: Option<usize>,
    ) -> Result<(Tensor, Tensor)> {
        let kind = self.net.kind();
        if kind == Nets::Transformer {
            let classes = logits.dim(2)?;
            if targets.dims() == logits.dims() {
                targets = targets.reshape(((), classes))?;
                logits = logits.reshape(((), classes))?;
            } else if logits.dims().starts_with(targets.dims()) && targets.rank() == 2 {
                targets = targets.flatten_all()?;
                logits = logits.reshape(((), classes))?;
            }
        }
        if let Some(seeds) = seeds.filter(|_| kind.is_graph()) {
            logits = first_rows(&logits, seeds)?;
            targets = first_rows(&targets, seeds)?;
        }
        Ok((logits, targets))
    }
}

/// The first rows, or all where there are fewer.
fn first_rows(rows: &Tensor, count: usize) -> Result<Tensor> {
    let all = rows.dim(0)?;
    Ok(rows.narrow(0, 0, count.min(all))?)
}
