//! The metrics by which two runs chose their best epochs.

use std::path::Path;

use nnx::params::MonitorMode;
use nnx::run::{EpochMetrics, NNRun, RunSummary};
use serde::Serialize;

use super::cells::{at_epochs, last_values};
use crate::failure::Failure;
use crate::json::JsonFloat;
use crate::runs::metrics::{last, lowest, number, values};
use crate::runs::monitor::{BestPart, best_text};
use crate::table::Table;

/// The metric of a run's checkpoint `best`, or why it cannot be read.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Chosen {
    Read {
        #[serde(flatten)]
        best: BestPart,
        #[serde(skip)]
        text: String,
    },
    Failed {
        error: Failure,
    },
}

impl Chosen {
    pub(super) fn from_run(run: &NNRun, folder: &str, root: &Path) -> Option<Self> {
        match RunSummary::new(run, folder, root) {
            Ok(summary) => summary.best.map(|best| Self::Read {
                best: BestPart::new(&best),
                text: format!("{} at epoch {}", best_text(&best), number(best.epoch)),
            }),
            Err(error) => Some(Self::Failed {
                error: error.into(),
            }),
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Read { text, .. } => text.clone(),
            Self::Failed { .. } => "cannot be read".to_owned(),
        }
    }

    /// Why the checkpoint cannot be read, if it cannot.
    pub(super) fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Read { .. } => None,
            Self::Failed { error } => Some(error),
        }
    }
}

/// The last and the best value of one monitor in each run; null for a run that has another monitor,
/// or none.
#[derive(Debug, Serialize)]
pub(super) struct Monitored {
    metric: String,
    /// Whether lower or higher values are better; null if that is not known, and then no epoch is
    /// the best.
    mode: Option<&'static str>,
    last: [JsonFloat; 2],
    last_epoch: [Option<i64>; 2],
    best: [JsonFloat; 2],
    best_epoch: [Option<i64>; 2],
    #[serde(skip)]
    best_word: &'static str,
}

/// The monitors of both runs, without repetition.
pub(super) fn all(runs: [&NNRun; 2], epochs: &[Vec<EpochMetrics>; 2]) -> Vec<Monitored> {
    let keys = runs.map(|run| Some((run.monitor()?.key(), run.monitor()?.mode())));
    let [a, b] = &keys;
    let distinct = a.iter().chain(b.iter().filter(|_| a != b));
    distinct
        .map(|key| {
            let of = |index: usize| match &keys[index] {
                Some(own) if own == key => epochs[index].as_slice(),
                _ => &[],
            };
            Monitored::new(&key.0, key.1, [of(0), of(1)])
        })
        .collect()
}

impl Monitored {
    fn new(metric: &str, mode: Option<MonitorMode>, runs: [&[EpochMetrics]; 2]) -> Self {
        let values = runs.map(|epochs| values(epochs, |epoch| epoch.monitor));
        // The first of equal values, as in a monitor.
        let best = values.each_ref().map(|values| match mode? {
            MonitorMode::Min => lowest(values),
            MonitorMode::Max => {
                let finite = values.iter().filter(|(_, value)| value.is_finite());
                finite.copied().rev().max_by(|a, b| a.1.total_cmp(&b.1))
            }
        });
        let last = values.each_ref().map(|values| last(values));
        Self {
            metric: metric.to_owned(),
            mode: mode.map(MonitorMode::value),
            last: last.map(|(value, _)| value),
            last_epoch: last.map(|(_, epoch)| epoch),
            best: best.map(|best| JsonFloat(best.map(|best| best.1))),
            best_epoch: best.map(|best| best.map(|best| best.0)),
            best_word: match mode {
                Some(MonitorMode::Max) => "highest",
                _ => "lowest",
            },
        }
    }

    /// Adds the rows of the monitor to a table of metrics.
    pub(super) fn add_to(&self, table: &mut Table, epochs: &[Vec<EpochMetrics>; 2]) {
        if self.last.iter().all(|value| value.0.is_none()) {
            return;
        }
        let [a, b] = last_values(&self.last, &self.last_epoch, epochs);
        table.push([format!("{} last", self.metric), a, b]);
        if self.mode.is_some() {
            let [a, b] = at_epochs(&self.best, &self.best_epoch);
            table.push([format!("{} {}", self.metric, self.best_word), a, b]);
        }
    }
}
