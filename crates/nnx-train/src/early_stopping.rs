//! Ending a training that no longer improves.

use nnx_params::{
    MetricSpec, MonitorMode, MonitorSpec, MonitorStatus, NNEvaluationDataPoint,
    NNIterationDataPoint,
};
use nnx_run::Data;

use crate::callback::Callback;
use crate::component::{Component, ComponentSpec, ComponentVersion};
use crate::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::monitor::MonitorTracker;

/// A field of the records that can be tracked without a declared monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordField {
    /// `val_edp.error`.
    ValError,
    /// `val_edp.loss`.
    ValLoss,
    /// `train_edp.error`, of the epoch's last batch.
    TrainError,
    /// `train_edp.loss`, of the epoch's last batch.
    TrainLoss,
}

/// Ends a training when so many epochs passed without an improvement: NNx's `EarlyStopping`.
///
/// Without a monitor it tracks the validation error, or the validation loss if the first validated
/// epoch has no finite error.
///
/// ```
/// use nnx_train::{EarlyStopping, RecordField};
///
/// let stopper = EarlyStopping::new().patience(3).field(RecordField::ValLoss);
/// assert_eq!(stopper.best(), None);
/// ```
#[derive(Clone, Debug)]
pub struct EarlyStopping {
    patience: usize,
    min_delta: f64,
    mode: MonitorMode,
    field: Option<RecordField>,
    monitor: Option<MonitorSpec>,
    name: Option<String>,
    tracker: Option<MonitorTracker>,
    best: Option<f64>,
    wait: usize,
    selected: Option<String>,
    reported: Vec<String>,
    warnings: Vec<String>,
}

impl Default for EarlyStopping {
    fn default() -> Self {
        Self {
            patience: 10,
            min_delta: 0.0,
            mode: MonitorMode::Min,
            field: None,
            monitor: None,
            name: None,
            tracker: None,
            best: None,
            wait: 0,
            selected: None,
            reported: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl EarlyStopping {
    /// A stopper with the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many epochs without improvement end the training; 0 ends it at the first. Default: 10.
    #[must_use]
    pub fn patience(mut self, epochs: usize) -> Self {
        self.patience = epochs;
        self
    }

    /// Sets by how much a value must be better than the best one. Default: 0.
    #[must_use]
    pub fn min_delta(mut self, delta: f64) -> Self {
        self.min_delta = delta;
        self
    }

    /// Sets whether smaller or larger values of a [`field`](Self::field) are better. Default: smaller.
    #[must_use]
    pub fn mode(mut self, mode: MonitorMode) -> Self {
        self.mode = mode;
        self
    }

    /// Tracks a field of the records. Default: chosen at the first validated epoch.
    #[must_use]
    pub fn field(mut self, field: RecordField) -> Self {
        self.field = Some(field);
        self
    }

    /// Tracks a declared metric, by the rule that also chooses the best epoch. Its direction and least
    /// improvement count, not those of this stopper.
    #[must_use]
    pub fn monitor(mut self, monitor: MonitorSpec) -> Self {
        self.monitor = Some(monitor);
        self
    }

    /// Sets the name under which checkpoints keep the state. Default: `early_stopping`, numbered.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The best value so far.
    pub fn best(&self) -> Option<f64> {
        self.best
    }

    /// The number of epochs since the best one.
    pub fn wait(&self) -> usize {
        self.wait
    }

    /// The metric that is tracked, such as `val_edp.error`; `None` until it is chosen.
    pub fn selected(&self) -> Option<&str> {
        self.selected.as_deref()
    }

    /// Takes the warnings about epochs that do not count, one sentence each.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Starts afresh, for a training with these declared metrics.
    ///
    /// # Errors
    /// When the monitor is not among the metrics, or the settings do not go together.
    pub fn reset(&mut self, metrics: &[MetricSpec]) -> Result<()> {
        self.check()?;
        self.best = None;
        self.wait = 0;
        self.reported.clear();
        self.tracker = match &self.monitor {
            Some(monitor) => Some(MonitorTracker::new(monitor, metrics)?),
            None => None,
        };
        let key = self.tracker.as_ref().map(|tracker| tracker.spec().key());
        self.selected = key.or_else(|| self.field.map(|field| field.name().to_owned()));
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let why = if self.monitor.is_some()
            && (self.field.is_some() || self.mode != MonitorMode::Min || self.min_delta != 0.0)
        {
            "an early stopping with a monitor takes direction and least improvement from the monitor"
        } else if self.field.is_none() && self.monitor.is_none() && self.mode == MonitorMode::Max {
            "an early stopping whose mode is `max` needs a field"
        } else if !(self.min_delta >= 0.0 && self.min_delta.is_finite()) {
            "the least improvement of an early stopping is a finite number from 0"
        } else {
            return Ok(());
        };
        Err(Error::configuration(why))
    }

    /// Judges an epoch by its last record, and tells whether to stop.
    ///
    /// # Errors
    /// When the monitor has no value and makes that an error.
    pub fn observe(&mut self, record: &NNIterationDataPoint, epoch: i64) -> Result<bool> {
        let value = if let Some(tracker) = &mut self.tracker {
            let train = record.train_summary().unwrap_or_else(|| record.train_edp());
            let value = tracker.value(Some(train), record.val_edp());
            let judged = tracker.observe(value, epoch)?;
            if judged.status() == MonitorStatus::Missing {
                let key = tracker.spec().key();
                self.report(
                    &key,
                    format!("epoch {epoch} has no `{key}` and does not count"),
                );
                return Ok(false);
            }
            if judged.improved() {
                self.best = value;
                self.wait = 0;
                return Ok(false);
            }
            value.unwrap_or(f64::NAN)
        } else {
            let Some(value) = self.field_value(record, epoch) else {
                return Ok(false);
            };
            if value.is_finite() && self.best.is_none_or(|best| self.is_better(value, best)) {
                self.best = Some(value);
                self.wait = 0;
                return Ok(false);
            }
            value
        };
        if !value.is_finite() {
            let what = format!("epoch {epoch} has `{value}`, which counts as no improvement");
            self.report("nonfinite", what);
        }
        self.wait = self.wait.saturating_add(1);
        Ok(self.wait >= self.patience)
    }

    fn is_better(&self, value: f64, best: f64) -> bool {
        match self.mode {
            MonitorMode::Max => value > best + self.min_delta,
            _ => value < best - self.min_delta,
        }
    }

    /// The tracked value of an epoch; `None` if the epoch does not count.
    fn field_value(&mut self, record: &NNIterationDataPoint, epoch: i64) -> Option<f64> {
        let selected = self.selected.clone();
        let (split, field) = selected
            .as_deref()
            .and_then(|selected| selected.split_once('.'))
            .unwrap_or(("val_edp", ""));
        let point = match split {
            "train_edp" => Some(record.train_edp()),
            _ => record.val_edp(),
        };
        let Some(point) = point else {
            let what = format!("epoch {epoch} has no validation and does not count");
            self.report("absent", what);
            return None;
        };
        let number = |field: &str| field_of(point, field);
        if !field.is_empty() {
            let value = number(field);
            if value.is_none() {
                let what = format!("epoch {epoch} has no `{split}.{field}` and does not count");
                self.report(&format!("{split}.{field}"), what);
            }
            return value;
        }
        let present = ["error", "loss"].map(|field| (field, number(field)));
        let is_empty = nnx_run::is_unavailable(point);
        let finite = present
            .iter()
            .find(|(_, value)| value.is_some_and(f64::is_finite) && !is_empty);
        if let Some((field, value)) = finite {
            self.selected = Some(format!("val_edp.{field}"));
            return *value;
        }
        // A run that diverges from its first epoch: the epoch counts, the choice stays open.
        let value = present.iter().find_map(|(_, value)| *value);
        if value.is_none() {
            let what = format!("the validation of epoch {epoch} has neither an error nor a loss");
            self.report("no field", what);
        }
        value
    }

    /// Reports each kind of problem once in a training.
    fn report(&mut self, key: &str, what: String) {
        if !self.reported.iter().any(|reported| reported == key) {
            self.reported.push(key.to_owned());
            self.warnings.push(format!("early stopping: {what}"));
        }
    }

    fn monitor_data(&self) -> Data {
        match (&self.tracker, &self.monitor, self.field) {
            (Some(tracker), _, _) => Data::from(&tracker.spec().state().into()),
            (None, Some(monitor), _) => Data::from(&monitor.state().into()),
            (None, None, Some(field)) => Data::Str(field.name().to_owned()),
            (None, None, None) => Data::None,
        }
    }
}

fn field_of(point: &NNEvaluationDataPoint, field: &str) -> Option<f64> {
    let number = match field {
        "error" => point.error(),
        _ => point.loss(),
    };
    number.map(|number| number.as_f64())
}

impl RecordField {
    /// The name, such as `val_edp.error`.
    pub fn name(self) -> &'static str {
        match self {
            Self::ValError => "val_edp.error",
            Self::ValLoss => "val_edp.loss",
            Self::TrainError => "train_edp.error",
            Self::TrainLoss => "train_edp.loss",
        }
    }
}

impl Callback for EarlyStopping {
    fn monitor(&mut self, metrics: &[MetricSpec]) -> Result<Option<MonitorSpec>> {
        self.reset(metrics)?;
        Ok(self.tracker.as_ref().map(|tracker| tracker.spec().clone()))
    }

    fn on_train_begin(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        self.reset(ctx.metrics())
    }

    fn on_epoch_end(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        let Some(record) = ctx.record() else {
            return Ok(());
        };
        let stops = self.observe(record, ctx.epoch())?;
        for warning in self.take_warnings() {
            ctx.warn(warning);
        }
        if stops {
            ctx.stop();
        }
        Ok(())
    }

    fn component(&mut self) -> Option<&mut dyn Component> {
        Some(self)
    }
}

impl Component for EarlyStopping {
    fn component_spec(&self) -> ComponentSpec {
        match &self.name {
            None => ComponentSpec::new("early_stopping").optional().numbered(),
            Some(name) => ComponentSpec::new(name).optional(),
        }
    }

    fn component_state(&self) -> Data {
        let selected = self.selected.clone().map_or(Data::None, Data::Str);
        Data::dict([
            ("monitor", self.monitor_data()),
            ("mode", Data::Str(self.mode.value().to_owned())),
            ("best", self.best.map_or(Data::None, Data::Float)),
            ("wait", Data::Int(self.wait as i128)),
            ("selected", selected),
        ])
    }

    fn check_component_state(&self, state: &Data, _: ComponentVersion) -> Vec<String> {
        let plain = |data: &Data| data.to_value();
        let same_monitor = state.get("monitor").and_then(plain) == plain(&self.monitor_data());
        let same_mode = state.get("mode").and_then(Data::as_str) == Some(self.mode.value());
        if same_monitor && same_mode {
            return Vec::new();
        }
        vec!["the checkpoint tracked another monitor or another direction".to_owned()]
    }

    fn load_component_state(&mut self, state: &Data, version: ComponentVersion) -> Result<()> {
        if let Some(problem) = self.check_component_state(state, version).pop() {
            return Err(ErrorKind::CannotResume { what: problem }.into());
        }
        self.best = state.get("best").and_then(Data::as_f64);
        let wait = state.get("wait").and_then(Data::as_int);
        self.wait = wait
            .and_then(|wait| usize::try_from(wait).ok())
            .unwrap_or_default();
        let selected = state.get("selected").and_then(Data::as_str);
        self.selected = selected.map(str::to_owned);
        if let Some(tracker) = &mut self.tracker {
            tracker.set_best(self.best);
        }
        Ok(())
    }
}
