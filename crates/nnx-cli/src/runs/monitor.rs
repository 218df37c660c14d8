//! By which metric a run chose its best epoch.

use nnx::params::{MonitorMode, MonitorSpec};
use nnx::run::{BestMetric, NNRun};
use serde::Serialize;

use super::metrics::number;
use crate::json::{JsonCount, JsonFloat};

/// The metric of a checkpoint for JSON.
#[derive(Debug, Serialize)]
pub(super) struct BestPart {
    metric: String,
    value: JsonFloat,
    /// Which of two values is better: `min` or `max`; null where nothing says so.
    mode: Option<&'static str>,
    epoch: JsonCount,
}

impl BestPart {
    pub(super) fn of(best: &BestMetric) -> Self {
        Self {
            metric: best.name.clone(),
            value: JsonFloat(Some(best.value)),
            mode: best.mode.map(MonitorMode::value),
            epoch: JsonCount(best.epoch),
        }
    }
}

/// The metric of a checkpoint as a table shows it; a monitor's with its direction.
pub(super) fn best_text(best: &BestMetric) -> String {
    let text = format!("{} {}", best.name, number(best.value));
    if best.is_monitored {
        format!("{text}{}", direction(best.mode))
    } else {
        text
    }
}

/// Which of two values is better, behind what is told of a metric.
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
    pub(super) fn of(run: &NNRun) -> Option<Self> {
        run.monitor().map(|monitor| Self {
            metric: monitor.key(),
            mode: monitor.mode().map(MonitorMode::value),
            min_delta: JsonFloat(Some(monitor.min_delta())),
        })
    }
}

/// A monitor by its name and direction.
pub(super) fn monitor_text(monitor: &MonitorSpec) -> String {
    format!("{}{}", monitor.key(), direction(monitor.mode()))
}
