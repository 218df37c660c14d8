//! Balancing the experts of a mixture.

use nnx_params::NNEvaluationDataPoint;

use crate::clip::clip_grad_norm;
use crate::error::{Error, Result};
use crate::gradients::Gradients;
use crate::train_step::{StepContext, TrainStep, finite_loss};

/// A step that adds to the loss how unevenly each layer uses its experts: NNx's
/// `moe_train_step_factory`. The recorded loss includes it.
#[derive(Clone, Copy, Debug)]
pub struct MoeStep {
    weight: f64,
}

impl Default for MoeStep {
    fn default() -> Self {
        Self { weight: 0.01 }
    }
}

impl MoeStep {
    /// A step that weighs the balance with 0.01.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the weight of the balance, a finite number from 0.
    #[must_use]
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }
}

impl TrainStep for MoeStep {
    fn step(&mut self, ctx: &mut StepContext<'_>) -> Result<NNEvaluationDataPoint> {
        if !(self.weight >= 0.0 && self.weight.is_finite()) {
            return Err(Error::configuration(format!(
                "the weight of the balance is a finite number from 0, got `{}`",
                self.weight
            )));
        }
        if ctx.accumulate_grad_batches() != 1 {
            return Err(Error::configuration(
                "the step that balances experts does not accumulate gradients",
            ));
        }
        let output = ctx.model.outputs(ctx.batch, true)?;
        let mut loss = ctx.model.loss_terms(&output)?.loss;
        let mut balances = output.balances.iter();
        if let Some(first) = balances.next() {
            let mut sum = first.clone();
            for balance in balances {
                sum = (sum + balance)?;
            }
            loss = (loss + (sum * self.weight)?)?;
        }
        let value = finite_loss(&loss)?;
        let mut gradients = Gradients::new();
        gradients.add(ctx.parameters(), &loss.backward()?)?;
        if let Some(norm) = ctx.clip_norm() {
            clip_grad_norm(&mut gradients, ctx.parameters(), norm);
        }
        ctx.optimizer().step(&gradients)?;
        ctx.report_update()?;
        let point = ctx.model.score(&output, ctx.options)?.point;
        Ok(point.with_loss(value))
    }
}
