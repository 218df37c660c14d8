//! Schedules: they change the learning rates.

mod build;
mod counting;
mod curve;
pub(crate) mod horizon;
mod one_cycle;
pub(crate) mod plateau;
mod rates;
mod saved;
mod state;
#[cfg(test)]
mod tests;

use nnx_params::{MonitorMode, NNSchedulerParams, Number, SchedulerClock};
use nnx_run::Data;

use crate::error::{Error, Result};
use crate::optimizer::Optimizer;
use build::Built;
use counting::Counting;
use horizon::Horizon;
use plateau::Plateau;

/// A schedule of the learning rates of an optimizer's groups: plateau, step, cosine, one cycle, or a
/// linear rise and fall.
///
/// The rates, and the momentum that one cycle moves, are equal to PyTorch's as float64.
///
/// ```
/// use candle_core::{DType, Device, Var};
/// use nnx_params::{NNOptimParams, NNSchedulerParams, Optims, Schedulers};
/// use nnx_train::{Horizon, Optimizer, Parameter, Scheduler};
///
/// let weight = Parameter::new("weight", Var::zeros(3, DType::F32, &Device::Cpu)?);
/// let params = NNOptimParams::builder(Optims::Sgd, 0.1, 0.9, 0.0).build()?;
/// let mut optimizer = Optimizer::new(&params, vec![weight])?;
///
/// let params = NNSchedulerParams::builder().kind(Schedulers::Step).factor(0.5).build()?;
/// let mut scheduler = Scheduler::new(&params, &mut optimizer, Horizon::new(3))?;
/// scheduler.step(&mut optimizer)?;
/// assert_eq!(optimizer.learning_rate(), 0.05);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scheduler {
    schedule: Schedule,
    clock: SchedulerClock,
    budget: Option<usize>,
    /// The entries of a loaded state that this version does not know.
    unknown: Vec<(Data, Data)>,
}

#[derive(Clone, Debug)]
enum Schedule {
    Plateau(Plateau),
    Counting(Counting),
}

impl Scheduler {
    /// The schedule of an optimizer that was just made. Its changes before the first epoch are made
    /// now.
    ///
    /// # Errors
    /// When the factor of a plateau schedule is not below 1, when there are fewer `total_steps` than
    /// the training has, or when a schedule that counts updates has neither the steps it needs nor
    /// the number of updates. The optimizer is not changed then.
    pub fn new(
        params: &NNSchedulerParams,
        optimizer: &mut Optimizer,
        horizon: Horizon,
    ) -> Result<Self> {
        Ok(Self {
            schedule: match build::build(params, optimizer, horizon)? {
                Built::Plateau(plateau) => Schedule::Plateau(plateau),
                Built::Curve(curve) => Schedule::Counting(Counting::new(curve, optimizer)?),
            },
            clock: params.clock(),
            budget: build::budget(params, horizon),
            unknown: Vec::new(),
        })
    }

    /// The schedule as it is with a monitor: a plateau schedule begins again under the monitor's rule,
    /// with `min_delta` as an absolute threshold; the others are as before.
    ///
    /// # Errors
    /// When the rate of a group is not a number.
    pub fn monitored(
        self,
        mode: MonitorMode,
        min_delta: impl Into<Number>,
        optimizer: &Optimizer,
    ) -> Result<Self> {
        let schedule = match self.schedule {
            Schedule::Plateau(plateau) => {
                Schedule::Plateau(plateau.monitored(mode, min_delta.into(), optimizer)?)
            }
            counting => counting,
        };
        Ok(Self { schedule, ..self })
    }

    /// The Python class, such as `torch.optim.lr_scheduler.StepLR`.
    pub fn class(&self) -> &'static str {
        match &self.schedule {
            Schedule::Plateau(_) => plateau::CLASS,
            Schedule::Counting(counting) => counting.curve.class(),
        }
    }

    /// The unit of a step.
    pub fn clock(&self) -> SchedulerClock {
        self.clock
    }

    /// The steps taken so far, those before a resume included.
    pub fn steps(&self) -> i64 {
        match &self.schedule {
            Schedule::Plateau(plateau) => plateau.last_epoch,
            Schedule::Counting(counting) => counting.last_epoch,
        }
    }

    /// The number of updates that a one-cycle or linear schedule may count, where it counts updates.
    pub fn budget(&self) -> Option<usize> {
        self.budget
    }

    /// The plateau schedule, if it is one.
    pub fn plateau(&self) -> Option<&Plateau> {
        match &self.schedule {
            Schedule::Plateau(plateau) => Some(plateau),
            Schedule::Counting(_) => None,
        }
    }

    /// Takes a step of a schedule that counts steps.
    ///
    /// # Errors
    /// When it is a plateau schedule, or the step is beyond the schedule's total. Nothing is changed
    /// then.
    pub fn step(&mut self, optimizer: &mut Optimizer) -> Result<()> {
        if let Some(budget) = self.budget
            && i128::from(self.steps()) >= budget as i128
        {
            return Err(Error::configuration(format!(
                "committed update {} is beyond the scheduler's budget of {budget} optimizer updates; \
                 set total_steps to cover every update of the run",
                self.steps().saturating_add(1)
            )));
        }
        match &mut self.schedule {
            Schedule::Counting(counting) => counting.step(optimizer),
            Schedule::Plateau(_) => Err(Error::configuration(
                "expected a value for a step of a plateau schedule, found none",
            )),
        }
    }

    /// Takes a step of a plateau schedule with the value that it tracks; the others do not need it.
    ///
    /// # Errors
    /// As for [`step`](Self::step).
    pub fn step_with(&mut self, value: f64, optimizer: &mut Optimizer) -> Result<()> {
        match &mut self.schedule {
            Schedule::Plateau(plateau) => plateau.step(value, optimizer),
            Schedule::Counting(_) => self.step(optimizer),
        }
    }
}
