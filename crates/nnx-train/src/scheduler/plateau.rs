//! Lowering the rate when a value stops improving: `ReduceLROnPlateau`.

mod state;

use nnx_params::{MonitorMode, NNSchedulerParams, Number};

use super::rates;
use crate::error::{Error, Result};
use crate::optimizer::Optimizer;

pub(super) const CLASS: &str = "torch.optim.lr_scheduler.ReduceLROnPlateau";

/// A change of a rate that is smaller is not made.
const EPS: f64 = 1e-8;

/// A schedule that lowers the rate when a value stops improving.
#[derive(Clone, Debug)]
pub struct Plateau {
    factor: Number,
    /// `None` when there is one of each group.
    default_min_lr: Option<Number>,
    min_lrs: Vec<Number>,
    patience: usize,
    cooldown: usize,
    eps: f64,
    pub(super) last_epoch: i64,
    last_lr: Vec<Number>,
    mode: MonitorMode,
    threshold: Number,
    is_absolute: bool,
    best: f64,
    cooldown_counter: usize,
    num_bad_epochs: usize,
}

impl Plateau {
    pub(super) fn new(params: &NNSchedulerParams, optimizer: &Optimizer) -> Result<Self> {
        if params.factor().as_f64() >= 1.0 {
            return Err(Error::configuration(format!(
                "expected a factor < 1.0 of a plateau schedule, found {}. Factor should be < 1.0.",
                params.factor()
            )));
        }
        Ok(Self {
            factor: params.factor(),
            default_min_lr: Some(params.min_lr()),
            min_lrs: vec![params.min_lr(); optimizer.groups().len()],
            patience: params.patience(),
            cooldown: params.cooldown(),
            eps: EPS,
            last_epoch: 0,
            last_lr: rates::current(optimizer)?,
            mode: MonitorMode::Min,
            threshold: params.threshold(),
            is_absolute: false,
            best: worst(MonitorMode::Min),
            cooldown_counter: 0,
            num_bad_epochs: 0,
        })
    }

    /// The same schedule, fresh, under the rule of a monitor.
    pub(super) fn monitored(
        self,
        mode: MonitorMode,
        min_delta: Number,
        optimizer: &Optimizer,
    ) -> Result<Self> {
        Ok(Self {
            default_min_lr: None,
            last_epoch: 0,
            last_lr: rates::current(optimizer)?,
            mode,
            threshold: min_delta,
            is_absolute: true,
            best: worst(mode),
            cooldown_counter: 0,
            num_bad_epochs: 0,
            ..self
        })
    }

    /// The direction in which the metric improves.
    pub fn mode(&self) -> MonitorMode {
        self.mode
    }

    /// The least difference that counts as an improvement.
    pub fn threshold(&self) -> Number {
        self.threshold
    }

    /// Whether the threshold is a difference, and not a share of the best value.
    pub fn is_absolute(&self) -> bool {
        self.is_absolute
    }

    /// The best value so far, an infinity before there is one.
    pub fn best(&self) -> f64 {
        self.best
    }

    /// The steps without improvement since the rate was last lowered, or the best value was found.
    pub fn bad_steps(&self) -> usize {
        self.num_bad_epochs
    }

    /// The value that is worse than all others; a step takes it in the place of a value that is not
    /// finite.
    pub fn worst(&self) -> f64 {
        worst(self.mode)
    }

    fn is_better(&self, value: f64) -> bool {
        let (best, threshold) = (self.best, self.threshold.as_f64());
        match (self.mode, self.is_absolute) {
            (MonitorMode::Min, false) => value < best * (1.0 - threshold),
            (MonitorMode::Max, false) => value > best * (threshold + 1.0),
            (MonitorMode::Min, true) => value < best - threshold,
            (MonitorMode::Max, true) => value > best + threshold,
        }
    }

    pub(super) fn step(&mut self, value: f64, optimizer: &mut Optimizer) -> Result<()> {
        self.last_epoch = self.last_epoch.saturating_add(1);
        if self.is_better(value) {
            self.best = value;
            self.num_bad_epochs = 0;
        } else {
            self.num_bad_epochs = self.num_bad_epochs.saturating_add(1);
        }
        if let Some(rest) = self.cooldown_counter.checked_sub(1) {
            self.cooldown_counter = rest;
            self.num_bad_epochs = 0;
        }
        if self.num_bad_epochs > self.patience {
            self.lower(optimizer)?;
            self.cooldown_counter = self.cooldown;
            self.num_bad_epochs = 0;
        }
        self.last_lr = rates::current(optimizer)?;
        Ok(())
    }

    fn lower(&mut self, optimizer: &mut Optimizer) -> Result<()> {
        let groups = optimizer.groups().len();
        if self.min_lrs.len() != groups {
            let min_lr = self.default_min_lr.ok_or_else(|| {
                Error::configuration(format!(
                    "expected {groups} lowest rates of a plateau schedule, one of each group, found {}",
                    self.min_lrs.len()
                ))
            })?;
            self.min_lrs = vec![min_lr; groups];
        }
        for (group, min_lr) in optimizer.groups_mut().iter_mut().zip(&self.min_lrs) {
            let (old, lowered) = (group.lr(), group.lr() * self.factor.as_f64());
            // Python's `max` gives the first of equals, and takes the type with it.
            let new = if min_lr.as_f64() > lowered {
                *min_lr
            } else {
                Number::Float(lowered)
            };
            if old - new.as_f64() > self.eps {
                group.set_lr(new);
            }
        }
        Ok(())
    }
}

fn worst(mode: MonitorMode) -> f64 {
    match mode {
        MonitorMode::Min => f64::INFINITY,
        MonitorMode::Max => f64::NEG_INFINITY,
    }
}
