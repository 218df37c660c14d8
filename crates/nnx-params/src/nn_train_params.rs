//! The parameters of training with one optimizer.

use std::fmt;

use crate::enums::text_enum;
use crate::fields::{self, Fields, keeps_unknown, setters, split_state};
use crate::python_text::repr;
use crate::training_settings::{self, TrainingSettings, training_getters, training_setters};
use crate::{
    MetricSpec, MonitorSpec, NNOptimParams, NNSchedulerParams, OptimParams, Optims, Result, State,
};

text_enum! {
    /// What the number of epochs means in a resumed training.
    ResumeEpochs {
        /// That many more epochs, the default.
        Additional => "additional",
        /// That many epochs in all.
        Planned => "planned",
    }
}

/// The parameters of training with one optimizer and one schedule.
///
/// ```
/// use nnx_params::NNTrainParams;
///
/// let params = NNTrainParams::builder(8).seed(0).build()?;
/// assert_eq!(params.optim().class(), "NNOptimParams");
/// # Ok::<(), nnx_params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NNTrainParams {
    optim: OptimParams,
    scheduler: NNSchedulerParams,
    settings: TrainingSettings,
    resume_epochs: ResumeEpochs,
    unknown: State,
}

impl NNTrainParams {
    /// The Python class.
    pub const CLASS: &'static str = "NNTrainParams";

    /// The fields in the order of declaration, in which a pickle lists them.
    ///
    /// Loaders and extra metrics exist in a running Python program only and must be `None`.
    pub const FIELDS: &'static [&'static str] = &[
        "n_epochs",
        "scheduler",
        "optim",
        "seed",
        "data_id",
        "save_phase_checkpoints",
        "train_loader",
        "val_loader",
        "metrics",
        "monitor",
        "extra_metrics",
        "resume_from_run_id",
        "resume_from_checkpoint",
        "parent_run_id",
        "overwrite_existing",
        "resume_mode",
        "resume_epochs",
    ];

    /// Starts from the number of epochs.
    pub fn builder(n_epochs: usize) -> NNTrainParamsBuilder {
        NNTrainParamsBuilder {
            fields: State::from_iter([("n_epochs", n_epochs)]),
        }
    }

    /// Builds from the constructor's arguments: an enum is its text, a nested object its state.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain; a parent stands
    /// beside a run to resume; or the metrics and the monitor do not fit each other.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let nested = |field: &str| {
            let value = fields.given(field);
            value
                .map(|value| fields::mapping(Self::CLASS, field, value))
                .transpose()
        };
        let optim = match nested("optim")? {
            Some(state) => OptimParams::from_state(state)?,
            None => NNOptimParams::builder(Optims::Adam, 1e-2, (0.9, 0.999), 5e-5)
                .build()?
                .into(),
        };
        let scheduler = match nested("scheduler")? {
            Some(state) => NNSchedulerParams::from_state(state)?,
            None => NNSchedulerParams::builder().build()?,
        };
        let resume_epochs = match fields.given("resume_epochs") {
            None => ResumeEpochs::Additional,
            Some(value) => ResumeEpochs::from_value(Self::CLASS, "resume_epochs", value)?,
        };
        Ok(Self {
            optim,
            scheduler,
            settings: TrainingSettings::from_fields(&fields)?,
            resume_epochs,
            unknown: State::new(),
        })
    }

    /// Builds from what [`state`](Self::state) returns; the parent run comes back as such, never
    /// as one to resume.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let required = ["n_epochs", "optim", "scheduler"];
        let optional = [training_settings::OPTIONAL, &["resume_epochs"]].concat();
        let (mut known, unknown) = split_state(Self::CLASS, state, &required, &optional)?;
        training_settings::read_state(&mut known);
        let mut params = Self::from_fields(&known)?;
        params.unknown = unknown;
        Ok(params)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let (optim, scheduler) = (self.optim.state(), self.scheduler.state());
        self.state_with(optim, scheduler, MetricSpec::state, MonitorSpec::state)
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown), at every level.
    pub fn full_state(&self) -> State {
        let (optim, scheduler) = (self.optim.full_state(), self.scheduler.full_state());
        self.state_with(
            optim,
            scheduler,
            MetricSpec::full_state,
            MonitorSpec::full_state,
        )
        .followed_by(&self.unknown)
    }

    fn state_with(
        &self,
        optim: State,
        scheduler: State,
        metric_state: fn(&MetricSpec) -> State,
        monitor_state: fn(&MonitorSpec) -> State,
    ) -> State {
        let mut state = State::from_iter([("n_epochs", self.settings.n_epochs)]);
        state.insert("optim", optim);
        state.insert("scheduler", scheduler);
        self.settings.add_identity(&mut state);
        if self.resume_epochs != ResumeEpochs::Additional {
            state.insert("resume_epochs", self.resume_epochs);
        }
        self.settings
            .add_monitoring(&mut state, metric_state, monitor_state);
        state
    }

    keeps_unknown!();

    /// The optimizer.
    pub fn optim(&self) -> &OptimParams {
        &self.optim
    }

    /// The schedule of the learning rate.
    pub fn scheduler(&self) -> &NNSchedulerParams {
        &self.scheduler
    }

    training_getters!();

    /// What the number of epochs means in a resumed training.
    pub fn resume_epochs(&self) -> ResumeEpochs {
        self.resume_epochs
    }
}

/// Writes Python's `str`.
impl fmt::Display for NNTrainParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_epochs = self.settings.n_epochs;
        let seed = repr(&self.settings.seed.into());
        let Self {
            optim, scheduler, ..
        } = self;
        write!(
            f,
            "Train={{n_epochs={n_epochs}, seed={seed}, Optim={optim}, Scheduler={scheduler}}}"
        )
    }
}

/// Collects the fields of [`NNTrainParams`]; see [`NNTrainParams::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct NNTrainParamsBuilder {
    fields: State,
}

impl NNTrainParamsBuilder {
    training_setters!();

    setters! {
        /// What the number of epochs means in a resumed training. Default: more epochs.
        resume_epochs: ResumeEpochs as ResumeEpochs,
    }

    /// The optimizer. Default: Adam with rate 1e-2, betas 0.9 and 0.999 and weight decay 5e-5.
    pub fn optim(mut self, optim: impl Into<OptimParams>) -> Self {
        self.fields.insert("optim", optim.into().full_state());
        self
    }

    /// The schedule of the learning rate. Default: that of [`NNSchedulerParams::builder`].
    pub fn scheduler(mut self, scheduler: &NNSchedulerParams) -> Self {
        self.fields.insert("scheduler", scheduler.full_state());
        self
    }

    /// Builds the parameters.
    ///
    /// # Errors
    ///
    /// As [`NNTrainParams::from_fields`].
    pub fn build(self) -> Result<NNTrainParams> {
        NNTrainParams::from_fields(&self.fields)
    }
}
