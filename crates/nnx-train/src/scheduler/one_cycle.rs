//! One cycle: `OneCycleLR`.

use std::f64::consts::PI;

use nnx_params::Number;
use nnx_run::Data;

use super::rates;
use super::saved::{Saved, data, unexpected};
use crate::error::{Error, ErrorKind, Result};
use crate::optimizer::Optimizer;
use crate::optimizer::group::ParameterGroup;

pub(super) const CLASS: &str = "torch.optim.lr_scheduler.OneCycleLR";

pub(super) const ENTRIES: [&str; 5] = [
    "total_steps",
    "_schedule_phases",
    "_anneal_func_type",
    "cycle_momentum",
    "use_beta1",
];

/// The share of the rising phase, the maximum over the first rate, and the first over the last.
const RISING: f64 = 0.3;
const DIVISOR: f64 = 25.0;
const FINAL_DIVISOR: f64 = 1e4;
const BASE_MOMENTUM: f64 = 0.85;
const MAX_MOMENTUM: f64 = 0.95;

/// The settings of a group between which a phase moves, in the order of the saved state.
const MOVES: [[&str; 4]; 2] = [
    ["initial_lr", "max_lr", "max_momentum", "base_momentum"],
    ["max_lr", "min_lr", "base_momentum", "max_momentum"],
];

/// The cosine up to the maximum and down again, with the momentum the other way.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneCycle {
    total_steps: usize,
    /// The step at which each phase ends: a fraction for the first, which may be negative.
    ends: [Number; 2],
    uses_beta1: bool,
}

impl OneCycle {
    /// Gives the groups what they move between, and the momentum they begin with.
    pub(super) fn new(
        max_lr: Number,
        total_steps: usize,
        optimizer: &mut Optimizer,
    ) -> Result<Self> {
        let groups = optimizer.groups();
        let uses_beta1 = groups.iter().all(|group| group.betas().is_some());
        if !uses_beta1 && !groups.iter().all(|group| group.momentum().is_some()) {
            return Err(Error::configuration(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled",
            ));
        }
        let one_cycle = Self {
            total_steps,
            ends: ends(total_steps),
            uses_beta1,
        };
        for group in optimizer.groups_mut() {
            let initial = max_lr.as_f64() / DIVISOR;
            group.set("initial_lr", Data::Float(initial));
            group.set("max_lr", data(max_lr));
            group.set("min_lr", Data::Float(initial / FINAL_DIVISOR));
            one_cycle.set_momentum(group, MAX_MOMENTUM);
            group.set("max_momentum", Data::Float(MAX_MOMENTUM));
            group.set("base_momentum", Data::Float(BASE_MOMENTUM));
        }
        Ok(one_cycle)
    }

    /// The rates of step t. The momentum is set at once.
    pub(super) fn rates(&self, t: i64, optimizer: &mut Optimizer) -> Result<Vec<f64>> {
        if i128::from(t) > self.total_steps as i128 {
            return Err(Error::configuration(format!(
                "Tried to step {t} times. The specified number of total steps is {}",
                self.total_steps
            )));
        }
        let t = t as f64;
        let [first, last] = self.ends.map(Number::as_f64);
        let (start, end, [from, to, from_momentum, to_momentum]) = if t <= first {
            (0.0, first, MOVES[0])
        } else {
            (first, last, MOVES[1])
        };
        // Passes 1 at the last step, where the curve turns up again a little.
        let share = (t - start) / (end - start);
        let points = optimizer.groups().iter().map(|group| {
            let momentum = between(group, from_momentum, to_momentum, share)?;
            Ok((between(group, from, to, share)?, momentum))
        });
        let points = points.collect::<Result<Vec<_>>>()?;
        for (group, (_, momentum)) in optimizer.groups_mut().iter_mut().zip(&points) {
            self.set_momentum(group, *momentum);
        }
        Ok(points.into_iter().map(|(lr, _)| lr).collect())
    }

    fn set_momentum(&self, group: &mut ParameterGroup, momentum: f64) {
        let momentum = Data::Float(momentum);
        match group.betas() {
            Some((_, beta2)) if self.uses_beta1 => {
                group.set("betas", Data::Tuple(vec![momentum, Data::Float(beta2)]));
            }
            _ => group.set("momentum", momentum),
        }
    }

    pub(super) fn state(&self) -> [Data; 5] {
        let text = |text: &str| Data::Str(text.to_owned());
        let phases = self
            .ends
            .iter()
            .zip(MOVES)
            .map(|(end, [from, to, from_m, to_m])| {
                Data::dict([
                    ("end_step", data(*end)),
                    ("start_lr", text(from)),
                    ("end_lr", text(to)),
                    ("start_momentum", text(from_m)),
                    ("end_momentum", text(to_m)),
                ])
            });
        [
            Data::Int(self.total_steps as i128),
            Data::List(phases.collect()),
            text("cos"),
            Data::Bool(true),
            Data::Bool(self.uses_beta1),
        ]
    }

    pub(super) fn loaded(mut self, state: Saved<'_>) -> Result<Self> {
        state.count("total_steps", &mut self.total_steps)?;
        self.ends = ends(self.total_steps);
        if let Some(Data::Bool(uses_beta1)) = state.get("use_beta1") {
            self.uses_beta1 = *uses_beta1;
        }
        let built = self.state();
        let of_the_class = ENTRIES.into_iter().zip(&built).skip(1);
        for (name, expected) in of_the_class {
            let found = state.get(name);
            if found.is_some_and(|found| found.to_value() != expected.to_value()) {
                let what = format!(
                    "the `{name}` of the saved OneCycleLR is not the one that NNx uses; build the \
                     schedule as NNx does, or go on in Python"
                );
                return Err(ErrorKind::Unsupported { what }.into());
            }
        }
        match self.total_steps {
            0 => Err(unexpected("total_steps", "an integer > 0")),
            _ => Ok(self),
        }
    }
}

fn ends(total_steps: usize) -> [Number; 2] {
    let first = RISING * total_steps as f64 - 1.0;
    let last = i64::try_from(total_steps)
        .unwrap_or(i64::MAX)
        .saturating_sub(1);
    [first.into(), last.into()]
}

/// The point of a half cosine between two settings.
fn between(group: &ParameterGroup, from: &str, to: &str, share: f64) -> Result<f64> {
    let from = rates::setting(group, from)?.as_f64();
    let to = rates::setting(group, to)?.as_f64();
    Ok(to + (from - to) / 2.0 * ((PI * share).cos() + 1.0))
}
