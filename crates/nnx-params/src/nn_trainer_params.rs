//! The parameters of training with several optimizers.

use std::fmt;

use indexmap::IndexMap;

use crate::fields::{Fields, keeps_unknown, mapping, setters, split_state};
use crate::python_text::repr;
use crate::training_settings::{self, TrainingSettings, training_getters, training_setters};
use crate::{
    Error, MetricSpec, MonitorSpec, NNSchedulerParams, Number, OptimParams, Result, State, Value,
};

/// The parameters of training with several named optimizers.
///
/// ```
/// use nnx_params::{NNOptimParams, NNTrainerParams, Optims};
///
/// let sgd = NNOptimParams::builder(Optims::Sgd, 1e-3, 0.0, 0.0).build()?;
/// let params = NNTrainerParams::builder(4).optim("g", sgd.clone()).optim("d", sgd).build()?;
/// assert_eq!(params.to_string(), "Trainer={n_epochs=4, optims=['d', 'g'], seed=None}");
/// # Ok::<(), nnx_params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NNTrainerParams {
    optims: IndexMap<String, OptimParams>,
    schedulers: IndexMap<String, NNSchedulerParams>,
    settings: TrainingSettings,
    auto_step_schedulers: Number,
    unknown: State,
}

impl NNTrainerParams {
    /// The Python class.
    pub const CLASS: &'static str = "NNTrainerParams";

    /// The fields in the order of declaration, in which a pickle lists them.
    ///
    /// Loaders and extra metrics exist in a running Python program only and must be `None`.
    pub const FIELDS: &'static [&'static str] = &[
        "n_epochs",
        "optims",
        "schedulers",
        "seed",
        "data_id",
        "save_phase_checkpoints",
        "auto_step_schedulers",
        "overwrite_existing",
        "train_loader",
        "val_loader",
        "extra_metrics",
        "resume_from_run_id",
        "resume_from_checkpoint",
        "parent_run_id",
        "resume_mode",
        "metrics",
        "monitor",
    ];

    /// Starts from the number of epochs.
    pub fn builder(n_epochs: usize) -> NNTrainerParamsBuilder {
        NNTrainerParamsBuilder {
            fields: State::from_iter([("n_epochs", n_epochs)]),
            optims: State::new(),
            schedulers: State::new(),
        }
    }

    /// Builds from the constructor's arguments: an enum is its text, a nested object its state.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain; there is no
    /// optimizer; or a schedule has no optimizer of its name.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let settings = TrainingSettings::from_fields(&fields)?;
        let optims = named(
            fields.required("optims")?,
            "optims",
            OptimParams::from_state,
        )?;
        let schedulers = match fields.given("schedulers") {
            None => IndexMap::new(),
            Some(value) => named(value, "schedulers", NNSchedulerParams::from_state)?,
        };
        if optims.is_empty() {
            let domain = "at least one optimizer";
            return Err(Error::inconsistent(Self::CLASS, "optims", domain, "none"));
        }
        if let Some(name) = schedulers.keys().find(|name| !optims.contains_key(*name)) {
            let domain = "for names among `optims`";
            let found = repr(&name.as_str().into());
            return Err(Error::inconsistent(
                Self::CLASS,
                "schedulers",
                domain,
                found,
            ));
        }
        Ok(Self {
            optims,
            schedulers,
            settings,
            auto_step_schedulers: fields.number_or("auto_step_schedulers", true)?,
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
        let optional = [
            training_settings::OPTIONAL,
            &["schedulers", "auto_step_schedulers"],
        ];
        let required = ["n_epochs", "optims"];
        let (mut known, unknown) = split_state(Self::CLASS, state, &required, &optional.concat())?;
        training_settings::read_state(&mut known);
        let mut params = Self::from_fields(&known)?;
        params.unknown = unknown;
        Ok(params)
    }

    /// The serialised form, key for key as Python writes it; the names of the optimizers and
    /// schedules are sorted.
    pub fn state(&self) -> State {
        let optims = sorted(&self.optims, OptimParams::state);
        let schedulers = sorted(&self.schedulers, NNSchedulerParams::state);
        self.state_with(optims, schedulers, MetricSpec::state, MonitorSpec::state)
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown), at every level.
    pub fn full_state(&self) -> State {
        let optims = sorted(&self.optims, OptimParams::full_state);
        let schedulers = sorted(&self.schedulers, NNSchedulerParams::full_state);
        self.state_with(
            optims,
            schedulers,
            MetricSpec::full_state,
            MonitorSpec::full_state,
        )
        .followed_by(&self.unknown)
    }

    fn state_with(
        &self,
        optims: State,
        schedulers: State,
        metric_state: fn(&MetricSpec) -> State,
        monitor_state: fn(&MonitorSpec) -> State,
    ) -> State {
        let mut state = State::from_iter([("n_epochs", self.settings.n_epochs)]);
        state.insert("optims", optims);
        if !schedulers.is_empty() {
            state.insert("schedulers", schedulers);
        }
        self.settings.add_identity(&mut state);
        if self.auto_step_schedulers != Number::Bool(true) {
            state.insert("auto_step_schedulers", self.auto_step_schedulers);
        }
        self.settings
            .add_monitoring(&mut state, metric_state, monitor_state);
        state
    }

    keeps_unknown!();

    /// The optimizers by name, in the order in which they were given.
    pub fn optims(&self) -> impl ExactSizeIterator<Item = (&str, &OptimParams)> {
        self.optims
            .iter()
            .map(|(name, optim)| (name.as_str(), optim))
    }

    /// The schedules by the name of their optimizer, in the order in which they were given; an
    /// optimizer without one has that of [`NNSchedulerParams::builder`].
    pub fn schedulers(&self) -> impl ExactSizeIterator<Item = (&str, &NNSchedulerParams)> {
        self.schedulers
            .iter()
            .map(|(name, scheduler)| (name.as_str(), scheduler))
    }

    training_getters!();

    /// Whether every schedule makes a step after each epoch.
    pub fn auto_step_schedulers(&self) -> bool {
        self.auto_step_schedulers.truth()
    }
}

/// A mapping from names to nested objects.
fn named<T>(
    value: &Value,
    field: &str,
    read: fn(&State) -> Result<T>,
) -> Result<IndexMap<String, T>> {
    mapping(NNTrainerParams::CLASS, field, value)?
        .iter()
        .map(|(name, value)| {
            let field = format!("{field}['{name}']");
            let params = read(mapping(NNTrainerParams::CLASS, &field, value)?)?;
            Ok((name.to_owned(), params))
        })
        .collect()
}

/// The states of nested objects, names in code point order.
fn sorted<T>(objects: &IndexMap<String, T>, state: fn(&T) -> State) -> State {
    let mut entries: Vec<_> = objects.iter().collect();
    entries.sort_by_key(|(name, _)| *name);
    entries
        .into_iter()
        .map(|(name, object)| (name.as_str(), state(object)))
        .collect()
}

/// Writes Python's `str`.
impl fmt::Display for NNTrainerParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<&str> = self.optims.keys().map(String::as_str).collect();
        names.sort_unstable();
        let n_epochs = self.settings.n_epochs;
        let optims = repr(&names.into());
        let seed = repr(&self.settings.seed.into());
        write!(
            f,
            "Trainer={{n_epochs={n_epochs}, optims={optims}, seed={seed}}}"
        )
    }
}

/// Collects the fields of [`NNTrainerParams`]; see [`NNTrainerParams::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct NNTrainerParamsBuilder {
    fields: State,
    optims: State,
    schedulers: State,
}

impl NNTrainerParamsBuilder {
    training_setters!();

    setters! {
        /// Whether every schedule makes a step after each epoch. Default: true.
        auto_step_schedulers: bool as bool,
    }

    /// Adds an optimizer of a name; there must be at least one.
    pub fn optim(mut self, name: &str, optim: impl Into<OptimParams>) -> Self {
        self.optims.insert(name, optim.into().full_state());
        self
    }

    /// Adds the schedule of the optimizer of a name. Default: that of
    /// [`NNSchedulerParams::builder`].
    pub fn scheduler(mut self, name: &str, scheduler: &NNSchedulerParams) -> Self {
        self.schedulers.insert(name, scheduler.full_state());
        self
    }

    /// Builds the parameters.
    ///
    /// # Errors
    ///
    /// As [`NNTrainerParams::from_fields`].
    pub fn build(mut self) -> Result<NNTrainerParams> {
        self.fields.insert("optims", self.optims);
        self.fields.insert("schedulers", self.schedulers);
        NNTrainerParams::from_fields(&self.fields)
    }
}

#[cfg(test)]
mod tests;
