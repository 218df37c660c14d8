//! The step of a batch with an objective.

use nnx_params::NNEvaluationDataPoint;

use crate::error::{Error, Result};
use crate::loss_term::total;
use crate::objective::{Objective, ObjectiveContext};
use crate::train_step::StepContext;
use crate::update_engine::UpdateEngine;

/// The inputs of an objective's step beside the batch.
pub(crate) struct ObjectiveStep<'a> {
    pub(crate) objective: &'a mut (dyn Objective + 'a),
    pub(crate) engine: &'a mut Option<UpdateEngine>,
    /// Whether updates are counted for the training, as with one optimizer.
    pub(crate) announces: bool,
}

/// # Errors
/// When the objective fails, its terms are not finite, or an update fails.
pub(crate) fn objective_step(
    ctx: &mut StepContext<'_>,
    step: ObjectiveStep<'_>,
) -> Result<NNEvaluationDataPoint> {
    let ObjectiveStep {
        objective,
        engine: Some(engine),
        announces,
    } = step
    else {
        return Err(Error::configuration(
            "an objective needs an engine of updates",
        ));
    };
    let closes = (ctx.batch_idx + 1).is_multiple_of(ctx.accumulate) || ctx.is_last_batch;
    let epoch = ctx.epoch_idx();
    let result = objective.terms(&mut ObjectiveContext {
        model: &mut *ctx.model,
        batch: ctx.batch,
        epoch_idx: epoch,
        batch_idx: ctx.batch_idx,
        options: ctx.options,
    })?;
    engine.accumulate(&result.terms, closes)?;
    if let Some(summary) = ctx.summary.as_deref_mut() {
        summary.observe_terms(&result.terms);
    }
    if closes {
        let events = engine.commit(&mut ctx.live.optimizers, (epoch, ctx.batch_idx))?;
        if !events.is_empty() {
            objective.after_update(&mut *ctx.model, &events)?;
        }
        for event in &events {
            ctx.live.flags.update_count = Some(event.update_idx);
            let mut seen = ctx.live.context(&mut *ctx.model);
            ctx.callbacks.optimizer_update(&mut seen, event)?;
        }
        if !events.is_empty() {
            if announces {
                ctx.live
                    .announce_update(&mut *ctx.model, &mut *ctx.callbacks)?;
            }
            for one in ctx.live.optimizers.iter_mut() {
                one.committed()?;
            }
        }
    }
    let loss = total(&result.terms);
    let record = match result.record {
        Some(record) => record,
        None => NNEvaluationDataPoint::builder().build()?,
    };
    Ok(match loss {
        Some(loss) if record.loss().is_none() => record.with_loss(loss),
        _ => record,
    })
}
