//! The optimizers of a training by name, each with its schedule.

use crate::error::Result;
use crate::optimizer::Optimizer;
use crate::parameter::Parameter;
use crate::scheduler::Scheduler;
use crate::scheduler_clock::SchedulerClock;

/// The name of the only optimizer.
pub(crate) const DEFAULT: &str = "default";

/// An optimizer with its name and its schedule.
#[derive(Debug)]
#[non_exhaustive]
pub struct NamedOptimizer {
    /// The name; `default` if there is only one.
    pub name: String,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// The parameters that it owns.
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) scheduler: Scheduler,
    /// The clock, if the schedule counts updates.
    pub(crate) clock: Option<SchedulerClock>,
    /// Whether the loop steps the schedule.
    pub(crate) is_stepped: bool,
    pub(crate) clip_norm: Option<f64>,
}

/// The optimizers of a training, in the order of its parameters.
#[derive(Debug)]
pub struct Optimizers {
    list: Vec<NamedOptimizer>,
    primary: usize,
}

impl Optimizers {
    /// The optimizers; there must be one at least.
    pub(crate) fn new(list: Vec<NamedOptimizer>) -> Self {
        let names = list.iter().enumerate();
        let primary = names.min_by(|(_, a), (_, b)| a.name.cmp(&b.name));
        let primary = primary.map_or(0, |(at, _)| at);
        Self { list, primary }
    }

    /// The optimizer of that name.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Optimizer> {
        let mut list = self.list.iter_mut();
        list.find(|one| one.name == name)
            .map(|one| &mut one.optimizer)
    }

    /// The optimizers, in the order of the training's parameters.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &NamedOptimizer> {
        self.list.iter()
    }

    /// The optimizers, to change them.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut NamedOptimizer> {
        self.list.iter_mut()
    }

    /// The optimizer whose rate the records have: the first by name.
    #[expect(clippy::indexing_slicing, reason = "the index is that of an entry")]
    pub fn primary(&self) -> &NamedOptimizer {
        &self.list[self.primary]
    }

    /// [`primary`](Self::primary), to change it.
    #[expect(clippy::indexing_slicing, reason = "the index is that of an entry")]
    pub fn primary_mut(&mut self) -> &mut NamedOptimizer {
        &mut self.list[self.primary]
    }
}

impl NamedOptimizer {
    /// Counts an update: a schedule that counts updates takes its step.
    ///
    /// # Errors
    /// When the schedule may take no more steps.
    pub(crate) fn committed(&mut self) -> Result<()> {
        let Some(clock) = self.clock.as_mut().filter(|_| self.is_stepped) else {
            return Ok(());
        };
        self.scheduler.step(&mut self.optimizer)?;
        clock.count = self.scheduler.steps();
        clock
            .trace
            .push((clock.count, self.optimizer.learning_rate()));
        Ok(())
    }
}
