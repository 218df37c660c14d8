//! Keeping the learning rates.

use crate::callback::Callback;
use crate::context::Context;
use crate::error::Result;

/// Keeps the learning rate at the end of each epoch: NNx's `LRMonitor`.
#[derive(Clone, Debug, Default)]
pub struct LRMonitor {
    history: Vec<f64>,
    update_history: Vec<(i64, f64)>,
}

impl LRMonitor {
    /// A monitor that has seen no epoch.
    pub fn new() -> Self {
        Self::default()
    }

    /// The rate of the first group at the end of each epoch, after the schedule's step.
    pub fn history(&self) -> &[f64] {
        &self.history
    }

    /// For a schedule that counts updates: the number of its steps, and the rate after each.
    pub fn update_history(&self) -> &[(i64, f64)] {
        &self.update_history
    }
}

impl Callback for LRMonitor {
    fn on_epoch_end(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        self.history.push(ctx.learning_rate());
        self.update_history.extend_from_slice(ctx.update_rates());
        Ok(())
    }
}
