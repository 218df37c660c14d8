//! The schedules of the optimizers, and the counters of their steps.

use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::monitor::MonitorTracker;
use crate::named_optimizer::{NamedOptimizer, Optimizers};
use crate::optimizer::Optimizer;
use crate::scheduler::Scheduler;
use crate::scheduler::horizon::Horizon;
use crate::scheduler_clock::{SchedulerClock, counts_updates};
use crate::settings::{OptimizerSettings, Settings};

/// The optimizers with their schedules.
pub(super) fn schedule(
    settings: &Settings,
    optimizers: Vec<Optimizer>,
    tracker: Option<&MonitorTracker>,
    planned: Option<usize>,
) -> Result<Optimizers> {
    let is_trainer = settings.trainer.is_some();
    let horizon = Horizon::new(settings.n_epochs).with_updates(planned);
    let mut list = Vec::new();
    for (one, mut optimizer) in settings.optimizers.iter().zip(optimizers) {
        let mut scheduler = Scheduler::new(&one.scheduler, &mut optimizer, horizon)?;
        if let Some(tracker) = tracker {
            let delta = tracker.spec().min_delta();
            scheduler = scheduler.monitored(tracker.mode(), delta, &optimizer)?;
        }
        let counts = counts_updates(&one.scheduler);
        let clock = counts.then(|| {
            let component = clock_component(one, is_trainer);
            SchedulerClock::new(&one.name, component, scheduler.budget(), planned)
        });
        list.push(NamedOptimizer {
            name: one.name.clone(),
            parameters: optimizer.parameters().cloned().collect(),
            optimizer,
            scheduler,
            clock,
            is_stepped: settings.steps_schedules,
            clip_norm: one.params.grad_clip_norm().map(|norm| norm.as_f64()),
        });
    }
    Ok(Optimizers::new(list))
}

/// The name of the component of a schedule that counts updates.
fn clock_component(one: &OptimizerSettings, is_trainer: bool) -> String {
    const CLOCK: &str = "nnx.scheduler_clock";
    if !is_trainer {
        return CLOCK.to_owned();
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    let slug: String = one
        .name
        .chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .collect();
    if slug == one.name {
        return format!("{CLOCK}.{slug}");
    }
    // A name that had to be changed gets a part of its digest, so that two names never become one.
    let digest = Sha256::digest(one.name.as_bytes());
    let digest: String = digest
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{CLOCK}.{slug}-{digest}")
}
