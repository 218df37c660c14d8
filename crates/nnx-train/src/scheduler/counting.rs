//! The state that all schedules that count steps have: `LRScheduler`.

use nnx_params::Number;
use nnx_run::Data;

use super::curve::Curve;
use super::rates;
use super::saved::{self, Saved, unexpected};
use crate::error::{Error, Result};
use crate::optimizer::Optimizer;

/// A schedule that counts steps.
#[derive(Clone, Debug)]
pub(super) struct Counting {
    pub(super) curve: Curve,
    base_lrs: Vec<Number>,
    pub(super) last_epoch: i64,
    step_count: i64,
    last_lr: Vec<Number>,
}

impl Counting {
    /// Takes step 0.
    pub(super) fn new(curve: Curve, optimizer: &mut Optimizer) -> Result<Self> {
        for group in optimizer.groups_mut() {
            if group.settings().get("initial_lr").is_none() {
                let lr = rates::setting(group, "lr")?;
                group.set("initial_lr", saved::data(lr));
            }
        }
        let mut counting = Self {
            curve,
            base_lrs: rates::settings(optimizer, "initial_lr")?,
            last_epoch: -1,
            step_count: 0,
            last_lr: Vec::new(),
        };
        counting.step(optimizer)?;
        Ok(counting)
    }

    pub(super) fn step(&mut self, optimizer: &mut Optimizer) -> Result<()> {
        let (known, groups) = (self.base_lrs.len(), optimizer.groups().len());
        if known != groups {
            return Err(Error::configuration(format!(
                "expected a schedule of {groups} groups of parameters, found one of {known}"
            )));
        }
        let t = self.last_epoch.saturating_add(1);
        let rates = self.curve.rates(t, &self.base_lrs, optimizer)?;
        for (group, lr) in optimizer.groups_mut().iter_mut().zip(rates) {
            group.set_lr(lr);
        }
        self.last_epoch = t;
        self.step_count = self.step_count.saturating_add(1);
        self.last_lr = rates::current(optimizer)?;
        Ok(())
    }

    pub(super) fn state(&self) -> Vec<(&'static str, Data)> {
        let mut entries = self.curve.state();
        entries.extend([
            ("base_lrs", saved::list(&self.base_lrs)),
            ("last_epoch", Data::Int(self.last_epoch.into())),
            ("_step_count", Data::Int(self.step_count.into())),
            ("_is_initial", Data::Bool(false)),
            ("_get_lr_called_within_step", Data::Bool(false)),
            ("_last_lr", saved::list(&self.last_lr)),
        ]);
        if let Curve::WarmupDecay { .. } = self.curve {
            // PyTorch does not save functions.
            let functions = self.base_lrs.iter().map(|_| Data::None);
            entries.push(("lr_lambdas", Data::List(functions.collect())));
        }
        entries
    }

    pub(super) fn loaded(mut self, state: Saved<'_>) -> Result<Self> {
        self.curve = self.curve.loaded(state)?;
        state.numbers("base_lrs", &mut self.base_lrs)?;
        state.count("last_epoch", &mut self.last_epoch)?;
        if self.last_epoch < 0 {
            return Err(unexpected("last_epoch", "an integer >= 0"));
        }
        state.count("_step_count", &mut self.step_count)?;
        state.numbers("_last_lr", &mut self.last_lr)?;
        Ok(self)
    }
}
