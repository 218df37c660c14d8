//! The metric by which a run chose its best epoch.

use nnx::params::{MonitorMode, MonitorSpec};
use nnx::run::{BestMetric, NNRun};
use serde::Serialize;

use super::metrics::number;
use crate::json::{JsonCount, JsonFloat};

/// The metric of a checkpoint for JSON.
#[derive(Debug, Serialize)]
pub(crate) struct BestPart {
    metric: String,
    value: JsonFloat,
    /// Whether lower or higher values are better: `min` or `max`; null if that is not known.
    mode: Option<&'static str>,
    epoch: JsonCount,
}

impl BestPart {
    pub(crate) fn new(best: &BestMetric) -> Self {
        Self {
            metric: best.name.clone(),
            value: JsonFloat(Some(best.value)),
            mode: best.mode.map(MonitorMode::value),
            epoch: JsonCount(best.epoch),
        }
    }
}

/// The metric of a checkpoint in a table; with the direction of its monitor.
pub(crate) fn best_text(best: &BestMetric) -> String {
    let text = format!("{} {}", best.name, number(best.value));
    if best.is_monitored {
        format!("{text}{}", direction(best.mode))
    } else {
        text
    }
}

/// Whether lower or higher values are better, as a text after the metric.
fn direction(mode: Option<MonitorMode>) -> String {
    mode.map_or_else(String::new, |mode| format!(" ({mode})"))
}

/// The monitor of a run for JSON.
#[derive(Debug, Serialize)]
pub(super) struct MonitorPart {
    metric: String,
    mode: Option<&'static str>,
    min_delta: JsonFloat,
}

impl MonitorPart {
    pub(super) fn from_run(run: &NNRun) -> Option<Self> {
        run.monitor().map(|monitor| Self {
            metric: monitor.key(),
            mode: monitor.mode().map(MonitorMode::value),
            min_delta: JsonFloat(Some(monitor.min_delta())),
        })
    }
}

/// The name and direction of a monitor.
pub(super) fn monitor_text(monitor: &MonitorSpec) -> String {
    format!("{}{}", monitor.key(), direction(monitor.mode()))
}
