//! The parameters of training with several optimizers.

use std::fmt;

use indexmap::IndexMap;

use crate::class::{Arguments, FieldType, by, defaulted, mapping, number, required, state_methods};
use crate::error::{Error, Result};
use crate::number::Number;
use crate::repr::repr;
use crate::training::nn_scheduler_params::NNSchedulerParams;
use crate::training::optim_params::OptimParams;
use crate::training::training_class::{add_parent, read_state, training_class};
use crate::value::{State, Value};

training_class! {
    class {
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
        NNTrainerParams { unknown: State } in "nnx.trainer.params";
        errors: "there is no optimizer; a schedule has no optimizer of its name; or a loader or \
                 an extra metric, which exist in a running Python program only, is not `None`";
        pickle order: "n_epochs", "optims", "schedulers", "seed", "data_id",
            "save_phase_checkpoints", "auto_step_schedulers", "overwrite_existing",
            "train_loader", "val_loader", "extra_metrics", "resume_from_run_id",
            "resume_from_checkpoint", "parent_run_id", "resume_mode", "metrics", "monitor";
        state order: "n_epochs", "optims", "schedulers", "seed", "data_id", "parent_run_id",
            "parent_checkpoint", "save_phase_checkpoints", "auto_step_schedulers";
        required: &["n_epochs", "optims"];
        further keys: "parent_run_id", "parent_checkpoint";
        read state: read_state;
        amend state: |params: &NNTrainerParams, state: &mut State| add_parent(
            state,
            params.parent_run_id(),
            params.resume_from_run_id(),
            params.resume_from_checkpoint(),
        );
    }
    fields {}
    more fields {
        optims: IndexMap<String, OptimParams> = required(optims);
        schedulers: IndexMap<String, NNSchedulerParams> =
            by(schedulers).written_if(|schedulers| !schedulers.is_empty());
        /// Whether every schedule makes a step after each epoch.
        auto_step_schedulers: Number => bool = defaulted(number, true.into())
            .written_if(Number::is_not_true),
            set bool, "Default: true.";
    }
    builder {
        /// Starts from the number of epochs.
        NNTrainerParamsBuilder for NNTrainerParams(n_epochs: usize);
        completes: |fields: State| {
            fields.followed_by(&State::from_iter([("optims", State::new())]))
        };
    }
}

impl NNTrainerParams {
    state_methods!();

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
}

impl NNTrainerParamsBuilder {
    /// Adds an optimizer of a name; there must be at least one.
    pub fn optim(self, name: &str, optim: impl Into<OptimParams>) -> Self {
        self.with_named("optims", name, &optim.into())
    }

    /// Adds the schedule of the optimizer of a name. Default: that of
    /// [`NNSchedulerParams::builder`].
    pub fn scheduler(self, name: &str, scheduler: &NNSchedulerParams) -> Self {
        self.with_named("schedulers", name, scheduler)
    }

    fn with_named(mut self, field: &str, name: &str, object: &impl FieldType) -> Self {
        let mut objects = match self.fields.remove(field) {
            Some(Value::Map(objects)) => objects,
            _ => State::new(),
        };
        objects.insert(name, object.to_value(true));
        self.with(field, &objects)
    }
}

fn optims(
    class: &'static str,
    field: &str,
    value: &Value,
) -> Result<IndexMap<String, OptimParams>> {
    named(class, field, value, OptimParams::from_state)
}

/// The schedules, each of which belongs to one of the optimizers.
fn schedulers(
    arguments: &Arguments<'_>,
    field: &str,
) -> Result<IndexMap<String, NNSchedulerParams>> {
    let class = arguments.class;
    let schedulers = match arguments.given(field) {
        None => IndexMap::new(),
        Some(value) => named(class, field, value, NNSchedulerParams::from_state)?,
    };
    let optims = mapping(class, "optims", arguments.required("optims")?)?;
    if optims.is_empty() {
        let domain = "at least one optimizer";
        return Err(Error::inconsistent(class, "optims", domain, "none"));
    }
    if let Some(name) = schedulers.keys().find(|name| !optims.contains_key(name)) {
        let domain = "for names among `optims`";
        let found = repr(&name.as_str().into());
        return Err(Error::inconsistent(class, field, domain, found));
    }
    Ok(schedulers)
}

/// A mapping from names to nested objects.
fn named<T>(
    class: &'static str,
    field: &str,
    value: &Value,
    read: fn(&State) -> Result<T>,
) -> Result<IndexMap<String, T>> {
    mapping(class, field, value)?
        .iter()
        .map(|(name, value)| {
            let field = format!("{field}['{name}']");
            let params = read(mapping(class, &field, value)?)?;
            Ok((name.to_owned(), params))
        })
        .collect()
}

/// Writes Python's `str`.
impl fmt::Display for NNTrainerParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<&str> = self.optims.keys().map(String::as_str).collect();
        names.sort_unstable();
        let n_epochs = self.n_epochs;
        let optims = repr(&names.into());
        let seed = repr(&self.seed.into());
        write!(
            f,
            "Trainer={{n_epochs={n_epochs}, optims={optims}, seed={seed}}}"
        )
    }
}

#[cfg(test)]
mod tests;
