//! The saved state of a plateau schedule.

use nnx_params::MonitorMode;
use nnx_run::Data;

use super::Plateau;
use crate::error::Result;
use crate::scheduler::saved::{self, Saved, unexpected};

const ENTRIES: [&str; 15] = [
    "factor",
    "default_min_lr",
    "min_lrs",
    "patience",
    "cooldown",
    "eps",
    "last_epoch",
    "_last_lr",
    "mode_worse",
    "mode",
    "threshold",
    "threshold_mode",
    "best",
    "cooldown_counter",
    "num_bad_epochs",
];

impl Plateau {
    pub(in crate::scheduler) fn state(&self) -> Vec<(&'static str, Data)> {
        let count = |count: usize| Data::Int(count as i128);
        let values = [
            saved::data(self.factor),
            self.default_min_lr.map_or(Data::None, saved::data),
            saved::list(&self.min_lrs),
            count(self.patience),
            count(self.cooldown),
            Data::Float(self.eps),
            Data::Int(self.last_epoch.into()),
            saved::list(&self.last_lr),
            Data::Float(self.worst()),
            Data::Str(self.mode.value().to_owned()),
            saved::data(self.threshold),
            Data::Str(if self.is_absolute { "abs" } else { "rel" }.to_owned()),
            Data::Float(self.best),
            count(self.cooldown_counter),
            count(self.num_bad_epochs),
        ];
        ENTRIES.into_iter().zip(values).collect()
    }

    pub(in crate::scheduler) fn loaded(mut self, state: Saved<'_>) -> Result<Self> {
        state.number("factor", &mut self.factor)?;
        match state.get("default_min_lr") {
            None => {}
            Some(Data::None) => self.default_min_lr = None,
            Some(value) => {
                let value = saved::number(value);
                self.default_min_lr =
                    Some(value.ok_or_else(|| unexpected("default_min_lr", "a number or None"))?);
            }
        }
        state.numbers("min_lrs", &mut self.min_lrs)?;
        state.count("patience", &mut self.patience)?;
        state.count("cooldown", &mut self.cooldown)?;
        state.float("eps", &mut self.eps)?;
        state.count("last_epoch", &mut self.last_epoch)?;
        state.numbers("_last_lr", &mut self.last_lr)?;
        match state.get("mode").map(Data::as_str) {
            None => {}
            Some(Some("min")) => self.mode = MonitorMode::Min,
            Some(Some("max")) => self.mode = MonitorMode::Max,
            Some(_) => return Err(unexpected("mode", "`min` or `max`")),
        }
        state.number("threshold", &mut self.threshold)?;
        match state.get("threshold_mode").map(Data::as_str) {
            None => {}
            Some(Some("rel")) => self.is_absolute = false,
            Some(Some("abs")) => self.is_absolute = true,
            Some(_) => return Err(unexpected("threshold_mode", "`rel` or `abs`")),
        }
        state.float("best", &mut self.best)?;
        state.count("cooldown_counter", &mut self.cooldown_counter)?;
        state.count("num_bad_epochs", &mut self.num_bad_epochs)?;
        Ok(self)
    }
}
