//! The schedules that count steps.

use std::f64::consts::PI;

use nnx_params::Number;
use nnx_run::Data;

use super::one_cycle::{self, OneCycle};
use super::rates;
use super::saved::{Saved, data, unexpected};
use crate::error::Result;
use crate::optimizer::Optimizer;

/// The function that gives the rates of a step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Curve {
    /// `StepLR`.
    Step { size: usize, gamma: Number },
    /// `CosineAnnealingLR`.
    Cosine { t_max: usize, eta_min: Number },
    /// `OneCycleLR`.
    OneCycle(OneCycle),
    /// `LambdaLR` with NNx's function: a linear rise to the base rate, then a linear fall to 0. The
    /// function is not part of the saved state.
    WarmupDecay { warmup: usize, total: usize },
}

impl Curve {
    /// The Python class.
    pub(super) fn class(&self) -> &'static str {
        match self {
            Self::Step { .. } => "torch.optim.lr_scheduler.StepLR",
            Self::Cosine { .. } => "torch.optim.lr_scheduler.CosineAnnealingLR",
            Self::OneCycle(_) => one_cycle::CLASS,
            Self::WarmupDecay { .. } => "torch.optim.lr_scheduler.LambdaLR",
        }
    }

    /// The rates of step `t`, from those of the step before.
    pub(super) fn rates(
        &self,
        t: i64,
        base: &[Number],
        optimizer: &mut Optimizer,
    ) -> Result<Vec<Number>> {
        let current = rates::current(optimizer)?;
        let steps = |size: usize| i64::try_from(size).unwrap_or(i64::MAX);
        Ok(match *self {
            Self::Step { size, .. } if t == 0 || t % steps(size) != 0 => current,
            Self::Step { gamma, .. } => {
                let lowered = |lr: Number| (lr.as_f64() * gamma.as_f64()).into();
                current.into_iter().map(lowered).collect()
            }
            Self::Cosine { .. } if t == 0 => current,
            Self::Cosine { t_max, eta_min } => {
                let (min, period) = (eta_min.as_f64(), t_max as f64);
                let cosine = |t: i64| (PI * t as f64 / period).cos();
                let is_after_minimum =
                    i128::from(t - 1 - steps(t_max)).rem_euclid(2 * t_max as i128) == 0;
                let next = |(lr, base): (Number, &Number)| {
                    let (lr, base) = (lr.as_f64(), base.as_f64());
                    // The ratio would divide by zero.
                    let rate = if is_after_minimum {
                        lr + (base - min) * (1.0 - (PI / period).cos()) / 2.0
                    } else {
                        (1.0 + cosine(t)) / (1.0 + cosine(t - 1)) * (lr - min) + min
                    };
                    rate.into()
                };
                current.into_iter().zip(base).map(next).collect()
            }
            Self::OneCycle(one_cycle) => {
                let rates = one_cycle.rates(t, optimizer)?;
                rates.into_iter().map(Number::from).collect()
            }
            Self::WarmupDecay { warmup, total } => {
                let factor = if t < steps(warmup) {
                    (t + 1) as f64 / warmup.max(1) as f64
                } else {
                    let rest = steps(total).saturating_sub(steps(warmup)).max(1);
                    (1.0 - (t - steps(warmup)) as f64 / rest as f64).max(0.0)
                };
                let rate = |base: &Number| (base.as_f64() * factor).into();
                base.iter().map(rate).collect()
            }
        })
    }

    /// The entries of the saved state that come before the common ones.
    pub(super) fn state(&self) -> Vec<(&'static str, Data)> {
        match self {
            Self::Step { size, gamma } => vec![
                ("step_size", Data::Int(*size as i128)),
                ("gamma", data(*gamma)),
            ],
            Self::Cosine { t_max, eta_min } => vec![
                ("T_max", Data::Int(*t_max as i128)),
                ("eta_min", data(*eta_min)),
            ],
            Self::OneCycle(one_cycle) => one_cycle::ENTRIES
                .into_iter()
                .zip(one_cycle.state())
                .collect(),
            Self::WarmupDecay { .. } => Vec::new(),
        }
    }

    pub(super) fn loaded(mut self, state: Saved<'_>) -> Result<Self> {
        match &mut self {
            Self::Step { size, gamma } => {
                state.count("step_size", size)?;
                state.number("gamma", gamma)?;
                positive("step_size", *size)?;
            }
            Self::Cosine { t_max, eta_min } => {
                state.count("T_max", t_max)?;
                state.number("eta_min", eta_min)?;
                positive("T_max", *t_max)?;
            }
            Self::OneCycle(one_cycle) => *one_cycle = one_cycle.loaded(state)?,
            Self::WarmupDecay { .. } => {}
        }
        Ok(self)
    }
}

fn positive(name: &str, count: usize) -> Result<()> {
    match count {
        0 => Err(unexpected(name, "an integer > 0")),
        _ => Ok(()),
    }
}
