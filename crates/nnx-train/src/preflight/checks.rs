//! Whether declared metrics and monitors can have values.

use nnx_params::{MonitorSpec, MonitorSplit, TaskKind};

use crate::error::{Error, Result};
use crate::metric;
use crate::metric_inputs::MetricRules;
use crate::model::Model;
use crate::settings::Settings;

/// How the outputs of a model become what metrics are computed from.
pub(super) fn rules(model: &(dyn Model + '_)) -> MetricRules {
    let params = model.params();
    let task = params.task();
    let domain = metric::domain(params.loss(), task.map(|task| task.kind()));
    match task {
        None => MetricRules::without_task(domain),
        Some(task) => MetricRules {
            domain,
            ignored: task.ignore_index(),
            threshold: (task.threshold() / (1.0 - task.threshold())).ln(),
            skips_nan: task.kind() != TaskKind::Categorical,
        },
    }
}

/// The properties of a training that metrics and monitors are checked against.
pub(super) struct Checks<'a> {
    pub(super) settings: &'a Settings,
    pub(super) has_validation: bool,
    /// Whether metrics are computed from the model's outputs somewhere.
    pub(super) uses_model_metrics: bool,
    pub(super) is_default: bool,
}

impl Checks<'_> {
    /// Checks that each metric is registered, and that the model can feed it.
    pub(super) fn metrics(&self, model: &(dyn Model + '_), rules: MetricRules) -> Result<()> {
        let metrics = &self.settings.metrics;
        for one in metrics {
            metric::direction(one)?;
        }
        if !self.uses_model_metrics {
            return Ok(());
        }
        let task = model.params().task().and_then(|task| task.num_outputs());
        let outputs = model.net_params().map(|net| net.base().output_dim());
        metric::check(metrics, rules.domain, task.or(outputs))
    }

    /// Checks that a monitor can have a value.
    pub(super) fn monitor(&self, monitor: &MonitorSpec) -> Result<()> {
        let key = monitor.key();
        let is_val = monitor.split() == MonitorSplit::Val;
        if is_val && !self.has_validation {
            return Err(Error::configuration(format!(
                "the monitor `{key}` tracks the validation, and there is no val_loader"
            )));
        }
        let is_of_records = matches!(monitor.metric(), "loss" | "error");
        if !is_val && !is_of_records && !self.is_default {
            return Err(Error::configuration(format!(
                "the monitor `{key}` needs a metric over the whole epoch, which only the default step \
                 computes"
            )));
        }
        Ok(())
    }
}
