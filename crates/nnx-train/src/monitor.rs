//! The decision about each epoch by a declared monitor.

use nnx_params::{
    MetricSpec, MonitorMode, MonitorPolicy, MonitorRecord, MonitorSpec, MonitorSplit,
    MonitorStatus, NNEvaluationDataPoint,
};
use nnx_run::Data;

use crate::component::{Component, ComponentSpec, ComponentVersion};
use crate::error::{Error, ErrorKind, Result};
use crate::metric;

/// Applies a monitor to epoch after epoch, and remembers the best value.
///
/// ```
/// use nnx_params::MonitorSpec;
/// use nnx_train::MonitorTracker;
///
/// let spec = MonitorSpec::builder("loss").min_delta(0.05).build()?;
/// let mut tracker = MonitorTracker::new(&spec, &[])?;
/// assert!(tracker.observe(Some(0.5), 0)?.improved());
/// assert!(!tracker.observe(Some(0.46), 1)?.improved());
/// assert_eq!(tracker.best(), Some(0.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MonitorTracker {
    spec: MonitorSpec,
    mode: MonitorMode,
    best: Option<f64>,
    best_epoch: Option<i64>,
}

impl MonitorTracker {
    /// A tracker of a monitor; if the monitor has no direction, it is that of the metric.
    ///
    /// # Errors
    /// When the metric is neither `loss` nor `error` nor one that is declared.
    pub fn new(spec: &MonitorSpec, metrics: &[MetricSpec]) -> Result<Self> {
        let (spec, mode) = resolved(spec, metrics)?;
        Ok(Self {
            spec,
            mode,
            best: None,
            best_epoch: None,
        })
    }

    /// The monitor, with its direction.
    pub fn spec(&self) -> &MonitorSpec {
        &self.spec
    }

    /// The direction.
    pub fn mode(&self) -> MonitorMode {
        self.mode
    }

    /// The best value so far.
    pub fn best(&self) -> Option<f64> {
        self.best
    }

    pub(crate) fn set_best(&mut self, best: Option<f64>) {
        self.best = best;
    }

    /// The monitored value of an epoch's records.
    pub fn value(
        &self,
        train: Option<&NNEvaluationDataPoint>,
        val: Option<&NNEvaluationDataPoint>,
    ) -> Option<f64> {
        let record = match self.spec.split() {
            MonitorSplit::Train => train?,
            _ => val?,
        };
        let value = match self.spec.metric() {
            "loss" => record.loss(),
            "error" => record.error(),
            metric => record.metrics().get(metric).copied(),
        };
        value.map(|value| value.as_f64())
    }

    /// Judges the value of an epoch.
    ///
    /// # Errors
    /// [`ErrorKind::MonitorUnavailable`] when there is no value or no finite one, and the monitor
    /// makes that an error.
    pub fn observe(&mut self, value: Option<f64>, epoch: i64) -> Result<MonitorRecord> {
        let key = self.spec.key();
        let judged = |status, improved| {
            MonitorRecord::new(self.spec.clone(), value.map(Into::into), status, improved)
        };
        let unavailable = |what: String| Error::from(ErrorKind::MonitorUnavailable { what });
        let Some(current) = value else {
            if self.spec.on_missing() == MonitorPolicy::Error {
                let what = format!("epoch {epoch}: the monitor `{key}` has no value");
                return Err(unavailable(what));
            }
            return Ok(judged(MonitorStatus::Missing, false));
        };
        if !current.is_finite() {
            if self.spec.on_nonfinite() == MonitorPolicy::Error {
                let what = format!("epoch {epoch}: the monitor `{key}` is `{current}`");
                return Err(unavailable(what));
            }
            return Ok(judged(MonitorStatus::Nonfinite, false));
        }
        let delta = self.spec.min_delta();
        let improved = self.best.is_none_or(|best| match self.mode {
            MonitorMode::Max => current > best + delta,
            _ => current < best - delta,
        });
        let record = judged(MonitorStatus::Ok, improved);
        if improved {
            self.best = Some(current);
            self.best_epoch = Some(epoch);
        }
        Ok(record)
    }
}

/// A monitor with its direction.
fn resolved(spec: &MonitorSpec, metrics: &[MetricSpec]) -> Result<(MonitorSpec, MonitorMode)> {
    if let Some(mode) = spec.mode() {
        let is_known = matches!(spec.metric(), "loss" | "error")
            || metrics.iter().any(|metric| metric.label() == spec.metric());
        return if is_known {
            Ok((spec.clone(), mode))
        } else {
            Err(undeclared(spec))
        };
    }
    let declared = metrics
        .iter()
        .find(|metric| metric.label() == spec.metric());
    let mode = metric::direction(declared.ok_or_else(|| undeclared(spec))?)?;
    let mut state = spec.state();
    state.insert("mode", mode.value());
    Ok((MonitorSpec::from_state(&state)?, mode))
}

#[cold]
fn undeclared(spec: &MonitorSpec) -> Error {
    Error::configuration(format!(
        "the monitor `{}` needs `loss`, `error` or a metric among the declared ones",
        spec.key()
    ))
}

impl Component for MonitorTracker {
    fn component_spec(&self) -> ComponentSpec {
        ComponentSpec::new("nnx.monitor").optional()
    }

    fn component_state(&self) -> Data {
        let best_epoch = self.best_epoch.map(|epoch| Data::Int(epoch.into()));
        Data::dict([
            ("monitor", Data::from(&self.spec.state().into())),
            ("best", self.best.map_or(Data::None, Data::Float)),
            ("best_epoch", best_epoch.unwrap_or(Data::None)),
        ])
    }

    fn check_component_state(&self, state: &Data, _: ComponentVersion) -> Vec<String> {
        let saved = state.get("monitor").and_then(Data::to_value);
        if saved.as_ref() == Some(&self.spec.state().into()) {
            return Vec::new();
        }
        vec![format!(
            "the checkpoint has another monitor than `{}`",
            self.spec
        )]
    }

    fn load_component_state(&mut self, state: &Data, _: ComponentVersion) -> Result<()> {
        self.best = state.get("best").and_then(Data::as_f64);
        let epoch = state.get("best_epoch").and_then(Data::as_int);
        self.best_epoch = epoch.and_then(|epoch| i64::try_from(epoch).ok());
        Ok(())
    }
}
