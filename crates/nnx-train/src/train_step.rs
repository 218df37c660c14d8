//! The step of a batch.

use candle_core::Tensor;
use nnx_net::{Batch, EvaluateOptions};
use nnx_params::NNEvaluationDataPoint;

use crate::clip::clip_grad_norm;
use crate::component::Component;
use crate::epoch_summary::EpochSummary;
use crate::error::{Error, Result};
use crate::gradients::Gradients;
use crate::live::{Announce, Live};
use crate::model::Model;
use crate::optimizer::Optimizer;
use crate::parameter::Parameter;

/// A step of one's own: it runs the model, updates it, and gives the record of the batch.
pub trait TrainStep {
    /// The step of one batch.
    ///
    /// # Errors
    /// Any error that must end the training.
    fn step(&mut self, ctx: &mut StepContext<'_>) -> Result<NNEvaluationDataPoint>;

    /// The step as a component, if its state travels with the checkpoints.
    fn component(&mut self) -> Option<&mut dyn Component> {
        None
    }

    /// Whether the windows of batches are the loop's, so that the number of updates is known before.
    fn owns_windows(&self) -> bool {
        false
    }
}

impl<F> TrainStep for F
where
    F: FnMut(&mut StepContext<'_>) -> Result<NNEvaluationDataPoint>,
{
    fn step(&mut self, ctx: &mut StepContext<'_>) -> Result<NNEvaluationDataPoint> {
        self(ctx)
    }
}

/// A batch as a step sees it.
pub struct StepContext<'a> {
    pub(crate) model: &'a mut (dyn Model + 'a),
    pub(crate) live: &'a mut Live,
    pub(crate) callbacks: &'a mut (dyn Announce + 'a),
    pub(crate) batch: &'a Batch,
    pub(crate) batch_idx: usize,
    pub(crate) is_last_batch: bool,
    pub(crate) window: &'a mut Window,
    pub(crate) summary: Option<&'a mut EpochSummary>,
    pub(crate) options: &'a EvaluateOptions<'a>,
    pub(crate) accumulate: usize,
}

/// The gradients and weights of the batches since the last update.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    gradients: Gradients,
    weight: f64,
    numerator: f64,
}

impl Window {
    fn reset(&mut self) {
        self.gradients.clear();
        self.weight = 0.0;
        self.numerator = 0.0;
    }
}

impl StepContext<'_> {
    /// The model.
    pub fn model(&mut self) -> &mut dyn Model {
        self.model
    }

    /// The batch.
    pub fn batch(&self) -> &Batch {
        self.batch
    }

    /// The optimizer; of several the first by name.
    pub fn optimizer(&mut self) -> &mut Optimizer {
        &mut self.live.optimizers.primary_mut().optimizer
    }

    /// The optimizer of that name, in a training with several.
    pub fn optimizer_named(&mut self, name: &str) -> Option<&mut Optimizer> {
        self.live.optimizers.get_mut(name)
    }

    /// Every parameter of the model.
    pub fn parameters(&self) -> &[Parameter] {
        &self.live.parameters
    }

    /// The norm to which gradients are clipped.
    pub fn clip_norm(&self) -> Option<f64> {
        self.live.optimizers.primary().clip_norm
    }

    /// The number of batches between two updates.
    pub fn accumulate_grad_batches(&self) -> usize {
        self.accumulate
    }

    /// The epoch.
    pub fn epoch_idx(&self) -> i64 {
        self.live.flags.epoch
    }

    /// The number of the batch in its epoch.
    pub fn batch_idx(&self) -> usize {
        self.batch_idx
    }

    /// Whether it is the last batch of the epoch.
    pub fn is_last_batch(&self) -> bool {
        self.is_last_batch
    }

    /// The metrics that the training computes of labels.
    pub fn options(&self) -> &EvaluateOptions<'_> {
        self.options
    }

    /// Tells that the optimizer took a step. [`default_train_step`] tells it itself.
    ///
    /// # Errors
    /// When the schedule may take no more steps, or a callback fails.
    pub fn report_update(&mut self) -> Result<()> {
        self.live.optimizers.primary_mut().committed()?;
        self.live.announce_update(self.model, self.callbacks)
    }

    /// Tells that the optimizer of that name took a step.
    ///
    /// # Errors
    /// When there is no optimizer of that name; as for [`report_update`](Self::report_update).
    pub fn report_update_of(&mut self, name: &str) -> Result<()> {
        let mut all = self.live.optimizers.iter_mut();
        let one = all.find(|one| one.name == name);
        one.ok_or_else(|| Error::configuration(format!("there is no optimizer `{name}`")))?
            .committed()
    }
}

impl std::fmt::Debug for StepContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StepContext")
            .field("epoch_idx", &self.epoch_idx())
            .field("batch_idx", &self.batch_idx)
            .finish_non_exhaustive()
    }
}

/// The step that is taken where none is given: forward, loss, backward, and at the end of each window
/// scaling, clipping and update.
///
/// # Errors
/// When the loss is not finite, the batch is not what the model takes, or an update fails.
pub fn default_train_step(ctx: &mut StepContext<'_>) -> Result<NNEvaluationDataPoint> {
    let place = ctx.batch_idx % ctx.accumulate;
    let steps = place + 1 == ctx.accumulate || ctx.is_last_batch;
    if place == 0 {
        ctx.window.reset();
    }
    let has_task = ctx.model.params().task().is_some();
    let output = ctx.model.outputs(ctx.batch, true)?;
    let terms = ctx.model.loss_terms(&output)?;
    let is_empty = terms.weight == 0.0;
    let loss = if is_empty && has_task {
        None
    } else {
        Some(shown_loss(&terms, ctx.window, steps)?)
    };
    if terms.numerator.track_op() {
        let store = terms.numerator.backward()?;
        ctx.window.gradients.add(&ctx.live.parameters, &store)?;
    }
    let score = ctx.model.score(&output, ctx.options)?;
    if let Some(summary) = ctx.summary.as_deref_mut() {
        let scored = (!has_task).then_some(score.scored as f64);
        summary.observe((&output.logits, &output.targets), terms.weight, scored)?;
    }
    if steps {
        if has_task && ctx.window.weight == 0.0 {
            // Every target of the window is masked: there is nothing to learn from.
            ctx.window.reset();
        } else {
            update(ctx)?;
        }
    }
    Ok(match loss {
        None => score.point,
        Some(loss) => score.point.with_loss(loss),
    })
}

/// The loss to record: that of the batch, or of the window so far where no target of the batch counts.
fn shown_loss(terms: &nnx_net::LossTerms, window: &mut Window, steps: bool) -> Result<f64> {
    if terms.weight != 0.0 {
        let value = finite_loss(&terms.loss)?;
        window.numerator += value * terms.weight;
        window.weight += terms.weight;
        return Ok(value);
    }
    match window.weight {
        0.0 if steps => Err(Error::diverged(
            "no target of the window counts, so that its training loss is `nan`",
        )),
        0.0 => Ok(0.0),
        weight => Ok(window.numerator / weight),
    }
}

/// The value of a loss.
///
/// # Errors
/// When it is not finite.
pub(crate) fn finite_loss(loss: &Tensor) -> Result<f64> {
    let value = f64::from(loss.detach().to_scalar::<f32>()?);
    if value.is_finite() {
        return Ok(value);
    }
    Err(Error::diverged(format!("the training loss is `{value}`")))
}

fn update(ctx: &mut StepContext<'_>) -> Result<()> {
    let gradients = &mut ctx.window.gradients;
    if ctx.window.weight != 0.0 {
        gradients.divide(ctx.window.weight);
    }
    let one = ctx.live.optimizers.primary_mut();
    if let Some(norm) = one.clip_norm {
        clip_grad_norm(gradients, &ctx.live.parameters, norm);
    }
    one.optimizer.step(gradients)?;
    ctx.window.reset();
    ctx.report_update()
}
