//! The loss of the model as an objective.

use crate::error::Result;
use crate::loss_term::LossTerm;
use crate::objective::{NonFinite, Objective, ObjectiveContext, ObjectiveResult};

/// The loss of the model, by its loss or task, as an objective: NNx's `supervised_objective`. It trains
/// as the default step does, up to rounding.
#[derive(Clone, Copy, Debug, Default)]
pub struct SupervisedObjective {
    non_finite: NonFinite,
}

impl SupervisedObjective {
    /// An objective that fails where the loss is not finite.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what happens where the loss or a gradient is not finite.
    #[must_use]
    pub fn non_finite(mut self, policy: NonFinite) -> Self {
        self.non_finite = policy;
        self
    }
}

impl Objective for SupervisedObjective {
    fn terms(&mut self, ctx: &mut ObjectiveContext<'_>) -> Result<ObjectiveResult> {
        let output = ctx.model.outputs(ctx.batch, true)?;
        let terms = ctx.model.loss_terms(&output)?;
        let term = LossTerm::mean("loss", &terms.numerator, terms.weight)?;
        let mut record = ctx.model.score(&output, ctx.options)?.point;
        let has_task = ctx.model.params().task().is_some();
        match term.value() {
            Some(value) => record = record.with_loss(value),
            None if has_task => {}
            None => record = record.with_loss(f64::NAN),
        }
        Ok(ObjectiveResult::new([term]).record(record))
    }

    fn non_finite(&self) -> NonFinite {
        self.non_finite
    }
}
