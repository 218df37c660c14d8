//! Callbacks: code that a training calls at its moments.

use nnx_params::{MetricSpec, MonitorSpec, NNIterationDataPoint};

use crate::component::Component;
use crate::context::Context;
use crate::error::Result;
use crate::update_event::UpdateEvent;

/// Called at the moments of a training. Every hook does nothing by default.
///
/// | hook | when |
/// |---|---|
/// | `on_train_begin` | once, after a resume, before the states of components are restored |
/// | `on_epoch_begin` | before the epoch's first batch is asked for |
/// | `on_optimizer_update` | after each update of a training with an objective |
/// | `on_update` | after each update of any training |
/// | `on_epoch_end` | after validation and schedule, before anything of the epoch is saved |
/// | `on_train_end` | at the end, in reverse order of the callbacks, also after an error |
///
/// An error of a hook ends the training.
pub trait Callback {
    /// See the table.
    ///
    /// # Errors
    /// Any error that must end the training.
    fn on_train_begin(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        let _ = ctx;
        Ok(())
    }

    /// See the table.
    ///
    /// # Errors
    /// Any error that must end the training.
    fn on_epoch_begin(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        let _ = ctx;
        Ok(())
    }

    /// See the table. The rate is still the one that the update used.
    ///
    /// # Errors
    /// Any error that must end the training.
    fn on_optimizer_update(&mut self, ctx: &mut Context<'_>, event: &UpdateEvent) -> Result<()> {
        let (_, _) = (ctx, event);
        Ok(())
    }

    /// See the table. It may [stop](Context::stop_at_update) the training at this update.
    ///
    /// # Errors
    /// Any error that must end the training.
    fn on_update(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        let _ = ctx;
        Ok(())
    }

    /// See the table. The last record has the validation.
    ///
    /// # Errors
    /// Any error that must end the training.
    fn on_epoch_end(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        let _ = ctx;
        Ok(())
    }

    /// See the table. The checkpoint `last` has the changes that it makes to the model.
    ///
    /// # Errors
    /// Any error that must end the training; beside another error it becomes a warning.
    fn on_train_end(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        let _ = ctx;
        Ok(())
    }

    /// The callback as a component, if its state travels with the checkpoints.
    fn component(&mut self) -> Option<&mut dyn Component> {
        None
    }

    /// The monitor that the callback tracks, if it tracks one of the training's declared metrics. It is
    /// asked before anything begins.
    ///
    /// # Errors
    /// When the settings of the callback do not fit the metrics.
    fn monitor(&mut self, metrics: &[MetricSpec]) -> Result<Option<MonitorSpec>> {
        let _ = metrics;
        Ok(None)
    }

    /// Whether the callback needs all records of the training, which a training with a journal does not
    /// keep.
    fn needs_all_records(&self) -> bool {
        false
    }
}

/// A pointer to a callback is a callback.
macro_rules! pointers {
    ($($pointer:ty),*) => {$(
        impl<C: Callback + ?Sized> Callback for $pointer {
            fn on_train_begin(&mut self, ctx: &mut Context<'_>) -> Result<()> {
                (**self).on_train_begin(ctx)
            }

            fn on_epoch_begin(&mut self, ctx: &mut Context<'_>) -> Result<()> {
                (**self).on_epoch_begin(ctx)
            }

            fn on_optimizer_update(&mut self, ctx: &mut Context<'_>, event: &UpdateEvent) -> Result<()> {
                (**self).on_optimizer_update(ctx, event)
            }

            fn on_update(&mut self, ctx: &mut Context<'_>) -> Result<()> {
                (**self).on_update(ctx)
            }

            fn on_epoch_end(&mut self, ctx: &mut Context<'_>) -> Result<()> {
                (**self).on_epoch_end(ctx)
            }

            fn on_train_end(&mut self, ctx: &mut Context<'_>) -> Result<()> {
                (**self).on_train_end(ctx)
            }

            fn component(&mut self) -> Option<&mut dyn Component> {
                (**self).component()
            }

            fn monitor(&mut self, metrics: &[MetricSpec]) -> Result<Option<MonitorSpec>> {
                (**self).monitor(metrics)
            }

            fn needs_all_records(&self) -> bool {
                (**self).needs_all_records()
            }
        }
    )*};
}

pointers!(Box<C>, &mut C);

/// Calls a function at the end of each epoch with all records so far, as NNx does with a plain
/// function among the callbacks.
#[derive(Debug)]
pub struct EachEpoch<F>(pub F);

impl<F: FnMut(&[NNIterationDataPoint])> Callback for EachEpoch<F> {
    fn on_epoch_end(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        (self.0)(ctx.records());
        Ok(())
    }

    fn needs_all_records(&self) -> bool {
        true
    }
}
