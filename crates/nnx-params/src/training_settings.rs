//! The settings that both ways of training share.

use crate::enums::text_enum;
use crate::fields::{self, Fields};
use crate::metric_spec::{check_unique, metrics_of};
use crate::monitor_spec::RECORD_FIELDS;
use crate::{Error, MetricSpec, MonitorSpec, Number, Result, State, Value};

text_enum! {
    /// How a resumed training restores its state.
    ResumeMode {
        /// Whatever the checkpoint has, the default.
        Auto => "auto",
        /// Everything, or not at all.
        Stateful => "stateful",
        /// The weights alone.
        WeightsOnly => "weights_only",
    }
}

/// What [`NNTrainParams`](crate::NNTrainParams) and [`NNTrainerParams`](crate::NNTrainerParams)
/// share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TrainingSettings {
    pub(crate) n_epochs: usize,
    pub(crate) seed: Option<Number>,
    pub(crate) data_id: Option<String>,
    pub(crate) save_phase_checkpoints: Number,
    pub(crate) metrics: Vec<MetricSpec>,
    pub(crate) monitor: Option<MonitorSpec>,
    pub(crate) resume_from_run_id: Option<String>,
    pub(crate) resume_from_checkpoint: Option<String>,
    pub(crate) parent_run_id: Option<String>,
    pub(crate) overwrite_existing: bool,
    pub(crate) resume_mode: ResumeMode,
}

/// The optional state keys of these settings.
pub(crate) const OPTIONAL: &[&str] = &[
    "seed",
    "data_id",
    "parent_run_id",
    "parent_checkpoint",
    "save_phase_checkpoints",
    "metrics",
    "monitor",
];

impl TrainingSettings {
    pub(crate) fn from_fields(fields: &Fields<'_>) -> Result<Self> {
        let class = fields.class;
        for field in ["train_loader", "val_loader", "extra_metrics"] {
            if let value @ (Value::Bool(_) | Value::Map(_) | Value::List(_)) = fields.get(field) {
                let expected = "None, as it exists in a running Python program only";
                return Err(Error::wrong_type(class, field, expected, value));
            }
        }
        let n_epochs = fields.count("n_epochs", 1)?;
        let data_id = fields.optional_text("data_id")?;
        if data_id.as_deref().is_some_and(is_blank) {
            let domain = "a text that is not blank";
            return Err(Error::invalid(
                class,
                "data_id",
                domain,
                fields.get("data_id"),
            ));
        }
        let parent_run_id = fields.optional_text("parent_run_id")?;
        let resume_from_run_id = fields.optional_text("resume_from_run_id")?;
        if parent_run_id.is_some() && resume_from_run_id.is_some() {
            let domain = "None beside a `resume_from_run_id`";
            let value = fields.get("parent_run_id");
            return Err(Error::invalid(class, "parent_run_id", domain, value));
        }
        let resume_mode = fields
            .given("resume_mode")
            .map_or(Ok(ResumeMode::Auto), |value| {
                ResumeMode::from_value(class, "resume_mode", value)
            })?;
        let metrics = match fields.given("metrics") {
            None => Vec::new(),
            Some(value) => metrics_of(class, value)?,
        };
        check_unique(class, &metrics)?;
        let monitor = fields.optional("monitor", |value| {
            MonitorSpec::from_state(fields::mapping(class, "monitor", value)?)
        })?;
        if let Some(monitor) = &monitor {
            check_declared(class, monitor, &metrics)?;
        }
        Ok(Self {
            n_epochs,
            seed: fields.optional_number("seed")?,
            data_id,
            save_phase_checkpoints: fields.number_or("save_phase_checkpoints", true)?,
            metrics,
            monitor,
            resume_from_run_id,
            resume_from_checkpoint: match fields.given("resume_from_checkpoint") {
                None => Some("last".to_owned()),
                Some(_) => fields.optional_text("resume_from_checkpoint")?,
            },
            parent_run_id,
            overwrite_existing: fields.get("overwrite_existing").truth(),
            resume_mode,
        })
    }

    /// The run that this training goes on from.
    pub(crate) fn lineage(&self) -> Option<&str> {
        self.parent_run_id
            .as_deref()
            .filter(|id| !id.is_empty())
            .or(self.resume_from_run_id.as_deref())
    }

    /// Adds the keys from the seed to the phase checkpoints.
    pub(crate) fn add_identity(&self, state: &mut State) {
        if let Some(seed) = self.seed {
            state.insert("seed", seed);
        }
        if let Some(data_id) = &self.data_id {
            state.insert("data_id", data_id.as_str());
        }
        if let Some(lineage) = self.lineage() {
            state.insert("parent_run_id", lineage);
            state.insert("parent_checkpoint", self.resume_from_checkpoint.as_deref());
        }
        if self.save_phase_checkpoints != Number::Bool(true) {
            state.insert("save_phase_checkpoints", self.save_phase_checkpoints);
        }
    }

    /// Adds the metrics and the monitor, which come last.
    pub(crate) fn add_monitoring(
        &self,
        state: &mut State,
        metric_state: fn(&MetricSpec) -> State,
        monitor_state: fn(&MonitorSpec) -> State,
    ) {
        if !self.metrics.is_empty() {
            let metrics: Vec<State> = self.metrics.iter().map(metric_state).collect();
            state.insert("metrics", metrics);
        }
        if let Some(monitor) = &self.monitor {
            state.insert("monitor", monitor_state(monitor));
        }
    }
}

/// Turns the keys of a state into the arguments that they stand for.
pub(crate) fn read_state(known: &mut State) {
    if let Some(checkpoint) = known.remove("parent_checkpoint") {
        known.insert("resume_from_checkpoint", checkpoint);
    }
    if !known.get("metrics").is_some_and(Value::truth) {
        known.remove("metrics");
    }
}

fn check_declared(
    class: &'static str,
    monitor: &MonitorSpec,
    metrics: &[MetricSpec],
) -> Result<()> {
    let metric = monitor.metric();
    let declared = metrics.iter().any(|declared| declared.label() == metric);
    if declared || RECORD_FIELDS.contains(&metric) {
        return Ok(());
    }
    let domain = "of `loss`, `error` or a metric among `metrics`";
    Err(Error::inconsistent(
        class,
        "monitor",
        domain,
        format!("`{metric}`"),
    ))
}

/// Whether a text is empty or holds nothing but what Python's `str.isspace` accepts.
pub(crate) fn is_blank(text: &str) -> bool {
    // Python also counts the four separators of ASCII as space.
    text.chars()
        .all(|c| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c))
}

/// The getters of the settings.
macro_rules! training_getters {
    () => {
        /// The number of epochs, at least 1.
        pub fn n_epochs(&self) -> usize {
            self.settings.n_epochs
        }

        /// The seed of every random number.
        pub fn seed(&self) -> Option<$crate::Number> {
            self.settings.seed
        }

        /// The caller's name of the data.
        pub fn data_id(&self) -> Option<&str> {
            self.settings.data_id.as_deref()
        }

        /// Whether the checkpoints of the first epoch and the quarters are saved.
        pub fn save_phase_checkpoints(&self) -> bool {
            self.settings.save_phase_checkpoints.truth()
        }

        /// The metrics declared beside those of every record.
        pub fn metrics(&self) -> &[$crate::MetricSpec] {
            &self.settings.metrics
        }

        /// What the choice of the best epoch tracks.
        pub fn monitor(&self) -> Option<&$crate::MonitorSpec> {
            self.settings.monitor.as_ref()
        }

        /// The run that is to be resumed; a state holds it as the parent.
        pub fn resume_from_run_id(&self) -> Option<&str> {
            self.settings.resume_from_run_id.as_deref()
        }

        /// The checkpoint of the resumed or parent run.
        pub fn resume_from_checkpoint(&self) -> Option<&str> {
            self.settings.resume_from_checkpoint.as_deref()
        }

        /// The run that this one goes on from.
        pub fn parent_run_id(&self) -> Option<&str> {
            self.settings.parent_run_id.as_deref()
        }

        /// Whether a run of the same id is replaced; no state holds it.
        pub fn overwrite_existing(&self) -> bool {
            self.settings.overwrite_existing
        }

        /// How a resumed training restores its state; no state holds it.
        pub fn resume_mode(&self) -> $crate::ResumeMode {
            self.settings.resume_mode
        }
    };
}

/// The setters of the settings that have defaults.
macro_rules! training_setters {
    () => {
        $crate::fields::setters! {
            /// The seed of every random number. Default: none.
            seed: impl Into<$crate::Number> as $crate::Number,
            /// The caller's name of the data. Default: none.
            data_id: impl Into<String> as String,
            /// Whether the checkpoints of the first epoch and the quarters are saved.
            /// Default: true.
            save_phase_checkpoints: bool as bool,
            /// The run to resume. Default: none.
            resume_from_run_id: impl Into<String> as String,
            /// The checkpoint of the resumed or parent run. Default: `last`.
            resume_from_checkpoint: impl Into<String> as String,
            /// The run that this one goes on from. Default: none.
            parent_run_id: impl Into<String> as String,
            /// Whether a run of the same id is replaced. Default: false.
            overwrite_existing: bool as bool,
            /// How a resumed training restores its state. Default: whatever the checkpoint has.
            resume_mode: $crate::ResumeMode as $crate::ResumeMode,
        }

        /// The metrics declared beside those of every record. Default: none.
        pub fn metrics(mut self, metrics: impl IntoIterator<Item = $crate::MetricSpec>) -> Self {
            let metrics: Vec<_> = metrics
                .into_iter()
                .map(|metric| metric.full_state())
                .collect();
            self.fields.insert("metrics", metrics);
            self
        }

        /// What the choice of the best epoch tracks. Default: none.
        pub fn monitor(mut self, monitor: &$crate::MonitorSpec) -> Self {
            self.fields.insert("monitor", monitor.full_state());
            self
        }
    };
}

pub(crate) use {training_getters, training_setters};
