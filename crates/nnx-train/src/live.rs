//! A training while it runs.

use nnx_params::MetricSpec;
use nnx_run::NNRun;

use crate::callback::Callback;
use crate::context::{Context, Flags};
use crate::error::Result;
use crate::history::History;
use crate::model::Model;
use crate::named_optimizer::Optimizers;
use crate::parameter::Parameter;
use crate::update_event::UpdateEvent;

/// The state that changes while a training runs, without the model.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) run: NNRun,
    pub(crate) optimizers: Optimizers,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) history: History,
    pub(crate) metrics: Vec<MetricSpec>,
    pub(crate) flags: Flags,
}

impl Live {
    /// The training as callbacks see it.
    pub(crate) fn context<'a>(&'a mut self, model: &'a mut (dyn Model + 'a)) -> Context<'a> {
        Context {
            model,
            run: &self.run,
            optimizers: &mut self.optimizers,
            records: self.history.window(),
            metrics: &self.metrics,
            flags: &mut self.flags,
        }
    }

    /// Counts an update, and tells the callbacks.
    ///
    /// # Errors
    /// When a callback fails.
    pub(crate) fn announce_update(
        &mut self,
        model: &mut (dyn Model + '_),
        callbacks: &mut (dyn Announce + '_),
    ) -> Result<()> {
        self.flags.committed_updates = self.flags.committed_updates.saturating_add(1);
        callbacks.update(&mut self.context(model))
    }
}

/// The callbacks as a step sees them.
pub(crate) trait Announce {
    fn update(&mut self, ctx: &mut Context<'_>) -> Result<()>;

    fn optimizer_update(&mut self, ctx: &mut Context<'_>, event: &UpdateEvent) -> Result<()>;
}

/// The callbacks of a training, in order.
#[derive(Default)]
pub(crate) struct Callbacks<'a> {
    pub(crate) list: Vec<Box<dyn Callback + 'a>>,
    /// How many were begun, and must be ended.
    started: usize,
}

impl Announce for Callbacks<'_> {
    fn update(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        self.list.iter_mut().try_for_each(|one| one.on_update(ctx))
    }

    fn optimizer_update(&mut self, ctx: &mut Context<'_>, event: &UpdateEvent) -> Result<()> {
        let mut list = self.list.iter_mut();
        list.try_for_each(|one| one.on_optimizer_update(ctx, event))
    }
}

impl Callbacks<'_> {
    pub(crate) fn begin(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        for one in &mut self.list {
            one.on_train_begin(ctx)?;
            self.started = self.started.saturating_add(1);
        }
        Ok(())
    }

    pub(crate) fn begin_epoch(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        let mut list = self.list.iter_mut();
        list.try_for_each(|one| one.on_epoch_begin(ctx))
    }

    pub(crate) fn end_epoch(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        let mut list = self.list.iter_mut();
        list.try_for_each(|one| one.on_epoch_end(ctx))
    }

    /// Ends those that were begun, the last first. All are called; the first error counts, the others
    /// become warnings.
    pub(crate) fn end(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        let started = std::mem::take(&mut self.started);
        let mut result = Ok(());
        for one in self.list.iter_mut().take(started).rev() {
            match one.on_train_end(ctx) {
                Ok(()) => {}
                Err(error) if result.is_ok() => result = Err(error),
                Err(error) => ctx.warn(format!("a callback failed at the end: {error}")),
            }
        }
        result
    }
}
