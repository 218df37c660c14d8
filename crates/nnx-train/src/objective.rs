//! Losses of one's own, whose updates the loop takes.

use nnx_net::{Batch, EvaluateOptions};
use nnx_params::NNEvaluationDataPoint;

use crate::component::Component;
use crate::error::Result;
use crate::loss_term::LossTerm;
use crate::model::Model;
use crate::optimizer::Optimizer;
use crate::update_event::UpdateEvent;

/// The reaction to a window of batches whose loss or gradients are not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NonFinite {
    /// The training ends with an error before anything is updated.
    #[default]
    Fail,
    /// The window takes no update, and is counted.
    Skip,
}

/// A loss of one's own: it computes terms, and the loop accumulates, differentiates, clips and updates.
pub trait Objective {
    /// The terms of a batch, and its record if it has metrics.
    ///
    /// # Errors
    /// When the batch is not what the objective takes.
    fn terms(&mut self, ctx: &mut ObjectiveContext<'_>) -> Result<ObjectiveResult>;

    /// The reaction to a window that is not finite. Default: an error.
    fn non_finite(&self) -> NonFinite {
        NonFinite::Fail
    }

    /// Refuses what the objective cannot train, before anything is written.
    ///
    /// # Errors
    /// When it refuses.
    fn check_run(
        &mut self,
        model: &mut dyn Model,
        optimizers: &[(&str, &Optimizer)],
    ) -> Result<()> {
        let (_, _) = (model, optimizers);
        Ok(())
    }

    /// Called once after each update with one event for each optimizer, before callbacks see them.
    ///
    /// # Errors
    /// Any error that must end the training.
    fn after_update(&mut self, model: &mut dyn Model, events: &[UpdateEvent]) -> Result<()> {
        let (_, _) = (model, events);
        Ok(())
    }

    /// The objective as a component, if its state travels with the checkpoints.
    fn component(&mut self) -> Option<&mut dyn Component> {
        None
    }
}

impl<F> Objective for F
where
    F: FnMut(&mut ObjectiveContext<'_>) -> Result<ObjectiveResult>,
{
    fn terms(&mut self, ctx: &mut ObjectiveContext<'_>) -> Result<ObjectiveResult> {
        self(ctx)
    }
}

/// A batch as an objective sees it.
pub struct ObjectiveContext<'a> {
    pub(crate) model: &'a mut (dyn Model + 'a),
    pub(crate) batch: &'a Batch,
    pub(crate) epoch_idx: i64,
    pub(crate) batch_idx: usize,
    pub(crate) options: &'a EvaluateOptions<'a>,
}

impl ObjectiveContext<'_> {
    /// The model.
    pub fn model(&mut self) -> &mut dyn Model {
        self.model
    }

    /// The batch.
    pub fn batch(&self) -> &Batch {
        self.batch
    }

    /// The epoch.
    pub fn epoch_idx(&self) -> i64 {
        self.epoch_idx
    }

    /// The number of the batch in its epoch.
    pub fn batch_idx(&self) -> usize {
        self.batch_idx
    }

    /// The metrics that the training computes of labels.
    pub fn options(&self) -> &EvaluateOptions<'_> {
        self.options
    }
}

impl std::fmt::Debug for ObjectiveContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectiveContext")
            .field("epoch_idx", &self.epoch_idx)
            .field("batch_idx", &self.batch_idx)
            .finish_non_exhaustive()
    }
}

/// The result of an objective for a batch.
#[derive(Clone, Debug)]
pub struct ObjectiveResult {
    pub(crate) terms: Vec<LossTerm>,
    pub(crate) record: Option<NNEvaluationDataPoint>,
}

impl ObjectiveResult {
    /// The terms of a batch.
    pub fn new(terms: impl IntoIterator<Item = LossTerm>) -> Self {
        Self {
            terms: terms.into_iter().collect(),
            record: None,
        }
    }

    /// Sets the record. Its loss is that of the terms if it has none.
    #[must_use]
    pub fn record(mut self, record: NNEvaluationDataPoint) -> Self {
        self.record = Some(record);
        self
    }
}
