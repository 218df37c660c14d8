//! From the parameters of a schedule to the schedule.

use nnx_params::{NNSchedulerParams, SchedulerClock, Schedulers};

use super::curve::Curve;
use super::horizon::Horizon;
use super::one_cycle::OneCycle;
use super::plateau::Plateau;
use super::rates;
use crate::error::{Error, Result};
use crate::optimizer::Optimizer;
use crate::scheduler_clock::{counts_updates, has_horizon};

/// A schedule before its first step.
pub(super) enum Built {
    Plateau(Plateau),
    Curve(Curve),
}

pub(super) fn build(
    params: &NNSchedulerParams,
    optimizer: &mut Optimizer,
    horizon: Horizon,
) -> Result<Built> {
    // So that nothing is changed before it is known that all of it can be.
    rates::current(optimizer)?;
    let kind = params.kind().unwrap_or(Schedulers::ReduceLrOnPlateau);
    let planned = |given: Option<usize>, field: &str| match given.or(steps(params, horizon)) {
        Some(0) => Err(Error::configuration(format!(
            "expected a {kind} schedule of at least one step, found a training without steps"
        ))),
        Some(steps) => Ok(steps),
        None => Err(Error::configuration(format!(
            "an optimizer_update-clock {kind} scheduler needs an explicit {field}: the number of \
                 updates is not known"
        ))),
    };
    Ok(Built::Curve(match kind {
        Schedulers::ReduceLrOnPlateau => {
            return Ok(Built::Plateau(Plateau::new(params, optimizer)?));
        }
        Schedulers::Step => Curve::Step {
            size: match params.step_size() {
                Some(size) => size,
                None => (planned(None, "step_size")? / 3).max(1),
            },
            gamma: params.factor(),
        },
        Schedulers::CosineAnnealing => Curve::Cosine {
            t_max: planned(params.t_max(), "T_max")?,
            eta_min: params.min_lr(),
        },
        Schedulers::OneCycle => {
            let total = planned(params.total_steps(), "total_steps")?;
            check_total(total, params, horizon)?;
            let max_lr = match (params.max_lr(), optimizer.groups().first()) {
                (None, Some(first)) => rates::setting(first, "lr")?,
                (max_lr, _) => max_lr.unwrap_or(0.into()),
            };
            Curve::OneCycle(OneCycle::new(max_lr, total, optimizer)?)
        }
        Schedulers::LinearWarmupDecay => {
            let total = planned(params.total_steps(), "total_steps")?;
            check_total(total, params, horizon)?;
            let whole = match params.clock() {
                SchedulerClock::OptimizerUpdate => total,
                SchedulerClock::Epoch => horizon.epochs(),
            };
            Curve::WarmupDecay {
                warmup: params.warmup_steps().unwrap_or((whole / 10).max(1)),
                total,
            }
        }
    }))
}

/// The steps that the training will take, if they are known.
fn steps(params: &NNSchedulerParams, horizon: Horizon) -> Option<usize> {
    match params.clock() {
        SchedulerClock::Epoch => Some(horizon.epochs()),
        SchedulerClock::OptimizerUpdate => horizon.updates(),
    }
}

/// The updates that a schedule with a fixed length may count.
pub(super) fn budget(params: &NNSchedulerParams, horizon: Horizon) -> Option<usize> {
    let total = params.total_steps().or(horizon.updates());
    total.filter(|_| has_horizon(params) && counts_updates(params))
}

fn check_total(total: usize, params: &NNSchedulerParams, horizon: Horizon) -> Result<()> {
    match steps(params, horizon) {
        Some(steps) if total < steps => Err(Error::configuration(format!(
            "total_steps ({total}) must be >= {} ({steps}): the schedule takes one step {}",
            match params.clock() {
                SchedulerClock::Epoch => "n_epochs",
                SchedulerClock::OptimizerUpdate => "the run's planned optimizer updates",
            },
            match params.clock() {
                SchedulerClock::Epoch => "per epoch, not per batch",
                SchedulerClock::OptimizerUpdate => "per committed update",
            }
        ))),
        _ => Ok(()),
    }
}
