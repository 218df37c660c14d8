//! A training as its callbacks see it.

use nnx_checkpoint::NNCheckpoint;
use nnx_params::{MetricSpec, NNIterationDataPoint};
use nnx_run::{CheckpointTag, Data, NNRun};

use crate::error::{Error, Result};
use crate::model::{Model, checkpoint_of};
use crate::named_optimizer::Optimizers;
use crate::optimizer::Optimizer;

/// The training as a [`Callback`](crate::Callback) sees it.
pub struct Context<'a> {
    pub(crate) model: &'a mut (dyn Model + 'a),
    pub(crate) run: &'a NNRun,
    pub(crate) optimizers: &'a mut Optimizers,
    pub(crate) records: &'a [NNIterationDataPoint],
    pub(crate) metrics: &'a [MetricSpec],
    pub(crate) flags: &'a mut Flags,
}

/// The requests of callbacks, and the counters of the loop.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    pub(crate) epoch: i64,
    pub(crate) should_stop: bool,
    pub(crate) stop_at_update: bool,
    pub(crate) committed_updates: i64,
    pub(crate) update_count: Option<i64>,
    pub(crate) update_rates: Vec<(i64, f64)>,
    pub(crate) warnings: Vec<String>,
    /// The kinds of problems that are reported once.
    pub(crate) warned: Vec<&'static str>,
    pub(crate) deferred: Vec<(CheckpointTag, NNCheckpoint)>,
    /// The last record of the epoch, once it is complete.
    pub(crate) has_record: bool,
}

impl Context<'_> {
    /// The model.
    pub fn model(&mut self) -> &mut dyn Model {
        self.model
    }

    /// The run that is being trained.
    pub fn run(&self) -> &NNRun {
        self.run
    }

    /// The optimizer; of several the first by name.
    pub fn optimizer(&mut self) -> &mut Optimizer {
        &mut self.optimizers.primary_mut().optimizer
    }

    /// The optimizers by name.
    pub fn optimizers(&mut self) -> &mut Optimizers {
        self.optimizers
    }

    /// The rate of the optimizer's first group.
    pub fn learning_rate(&self) -> f64 {
        self.optimizers.primary().optimizer.learning_rate()
    }

    /// The state of the schedule in the form of PyTorch's `state_dict()`; `None` with several
    /// optimizers.
    pub fn schedule_state(&self) -> Option<Data> {
        let mut all = self.optimizers.iter();
        match (all.next(), all.next()) {
            (Some(only), None) => Some(only.scheduler.state()),
            _ => None,
        }
    }

    /// The epoch, counted over all sessions of a resumed training.
    pub fn epoch(&self) -> i64 {
        self.flags.epoch
    }

    /// The last record of the last complete epoch, with its validation.
    pub fn record(&self) -> Option<&NNIterationDataPoint> {
        self.records.last().filter(|_| self.flags.has_record)
    }

    /// All records of this session; with a journal the last ones.
    pub fn records(&self) -> &[NNIterationDataPoint] {
        self.records
    }

    /// The declared metrics.
    pub fn metrics(&self) -> &[MetricSpec] {
        self.metrics
    }

    /// Ends the training after this epoch.
    pub fn stop(&mut self) {
        self.flags.should_stop = true;
    }

    /// Whether the training ends after this epoch.
    pub fn stops(&self) -> bool {
        self.flags.should_stop
    }

    /// Ends the training at this update. An epoch that is not complete then is abandoned: it leaves no
    /// record and no checkpoint, but the weights stay as they are.
    pub fn stop_at_update(&mut self) {
        self.flags.stop_at_update = true;
    }

    /// The number of updates so far.
    pub fn committed_updates(&self) -> i64 {
        self.flags.committed_updates
    }

    /// The number of updates so far of a training with an objective.
    pub fn update_count(&self) -> Option<i64> {
        self.flags.update_count
    }

    /// For a schedule that counts updates: the number of its steps, and the rate after each, of this
    /// epoch.
    pub fn update_rates(&self) -> &[(i64, f64)] {
        &self.flags.update_rates
    }

    /// Reports something that does not end the training; the [result](crate::Trained) has it.
    pub fn warn(&mut self, what: impl Into<String>) {
        self.flags.warnings.push(what.into());
    }

    /// Saves the weights as they are now under a tag of the run, without a training state. The file is
    /// written after the epoch is committed.
    ///
    /// # Errors
    /// When no epoch is complete, or the weights cannot be brought to the CPU.
    pub fn save_later(&mut self, tag: CheckpointTag) -> Result<()> {
        let record = self.record().cloned();
        let record = record.ok_or_else(|| Error::configuration("no epoch is complete yet"))?;
        let mut checkpoint = checkpoint_of(self.model, record)?;
        checkpoint.training_state_present = Some(false);
        self.flags.deferred.push((tag, checkpoint));
        Ok(())
    }
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("run", &self.run.id())
            .field("flags", &self.flags)
            .finish_non_exhaustive()
    }
}
