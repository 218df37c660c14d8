//! The validation of an epoch.

use nnx_net::{EvaluateOptions, Evaluation};
use nnx_params::{MetricSpec, NNEvaluationDataPoint};

use crate::component::Component;
use crate::error::Result;
use crate::loader::Loader;
use crate::metric_inputs::MetricRules;
use crate::metric_set::MetricSet;
use crate::model::Model;

/// A validation of one's own.
pub trait EvalStep {
    /// The record of an epoch's validation.
    ///
    /// # Errors
    /// Any error that must end the training.
    fn evaluate(&mut self, ctx: &mut EvalContext<'_>) -> Result<NNEvaluationDataPoint>;

    /// The step as a component, if its state travels with the checkpoints.
    fn component(&mut self) -> Option<&mut dyn Component> {
        None
    }
}

impl<F> EvalStep for F
where
    F: FnMut(&mut EvalContext<'_>) -> Result<NNEvaluationDataPoint>,
{
    fn evaluate(&mut self, ctx: &mut EvalContext<'_>) -> Result<NNEvaluationDataPoint> {
        self(ctx)
    }
}

/// A validation of an epoch: the model, the data and the metrics.
pub struct EvalContext<'a> {
    /// The model.
    pub model: &'a mut (dyn Model + 'a),
    /// The data.
    pub loader: &'a mut (dyn Loader + 'a),
    /// The epoch.
    pub epoch_idx: i64,
    /// The declared metrics.
    pub metrics: &'a [MetricSpec],
    /// The metrics that the training computes of labels.
    pub options: &'a EvaluateOptions<'a>,
}

impl std::fmt::Debug for EvalContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EvalContext")
            .field("epoch_idx", &self.epoch_idx)
            .finish_non_exhaustive()
    }
}

/// The validation that is taken where none is given: all batches in evaluation mode, with the declared
/// metrics over all samples.
///
/// # Errors
/// When there is no sample that counts, or a batch is not what the model takes.
pub(crate) fn evaluate(
    ctx: &mut EvalContext<'_>,
    rules: MetricRules,
) -> Result<NNEvaluationDataPoint> {
    let params = ctx.model.params().clone();
    let mut evaluation = Evaluation::new(&params, ctx.options);
    let mut metrics = MetricSet::new(ctx.metrics)?;
    for batch in ctx.loader.pass(ctx.model.generator())? {
        let output = ctx.model.outputs(&batch?, false)?;
        if !metrics.is_empty() {
            metrics.add(&rules.inputs(&output.logits, &output.targets)?);
        }
        evaluation.add(&output)?;
    }
    let point = evaluation.finish()?;
    let named = metrics.results()?.into_iter();
    Ok(named.fold(point, |point, (name, value)| {
        point.with_metric(&name, value)
    }))
}
