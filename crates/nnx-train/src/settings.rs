//! The parameters of a training, whichever way it is configured.

use nnx_params::{
    MetricSpec, MonitorSpec, NNOptimParams, NNSchedulerParams, NNTrainParams, NNTrainerParams,
    Number, OptimParams, ResumeEpochs, ResumeMode,
};

use crate::error::{Error, Result};
use crate::named_optimizer::DEFAULT;

/// The parameters of a training with one optimizer or several.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The parameters that the run records; of several optimizers those of the first by name.
    pub(crate) train: NNTrainParams,
    /// The parameters of several optimizers.
    pub(crate) trainer: Option<NNTrainerParams>,
    pub(crate) n_epochs: usize,
    pub(crate) seed: Option<Number>,
    pub(crate) save_phases: bool,
    pub(crate) overwrite: bool,
    pub(crate) source: Option<String>,
    pub(crate) source_checkpoint: String,
    pub(crate) resume_mode: ResumeMode,
    /// Whether the number of epochs is that of all sessions.
    pub(crate) is_planned: bool,
    pub(crate) metrics: Vec<MetricSpec>,
    pub(crate) monitor: Option<MonitorSpec>,
    pub(crate) optimizers: Vec<OptimizerSettings>,
    /// Whether the loop steps the schedules.
    pub(crate) steps_schedules: bool,
}

/// The parameters of one optimizer and its schedule.
#[derive(Clone, Debug)]
pub(crate) struct OptimizerSettings {
    pub(crate) name: String,
    pub(crate) params: NNOptimParams,
    pub(crate) scheduler: NNSchedulerParams,
}

const LAST: &str = "last";

impl Settings {
    /// # Errors
    /// When the optimizer is one that only Python has.
    pub(crate) fn from_train_params(params: &NNTrainParams) -> Result<Self> {
        Ok(Self {
            train: params.clone(),
            trainer: None,
            n_epochs: params.n_epochs(),
            seed: params.seed(),
            save_phases: params.save_phase_checkpoints(),
            overwrite: params.overwrite_existing(),
            source: params.resume_from_run_id().map(str::to_owned),
            source_checkpoint: params.resume_from_checkpoint().unwrap_or(LAST).to_owned(),
            resume_mode: params.resume_mode(),
            is_planned: params.resume_epochs() == ResumeEpochs::Planned,
            metrics: params.metrics().to_vec(),
            monitor: params.monitor().cloned(),
            optimizers: vec![OptimizerSettings {
                name: DEFAULT.to_owned(),
                params: built_in(params.optim())?.clone(),
                scheduler: params.scheduler().clone(),
            }],
            steps_schedules: true,
        })
    }

    /// # Errors
    /// When an optimizer is one that only Python has, or two of them have parameters in common by not
    /// naming theirs.
    pub(crate) fn from_trainer_params(params: &NNTrainerParams) -> Result<Self> {
        let mut optimizers = Vec::new();
        let several = params.optims().len() > 1;
        for (name, optim) in params.optims() {
            let optim = built_in(optim)?;
            if several && optim.param_groups().is_none() {
                return Err(Error::configuration(format!(
                    "each of several optimizers needs `param_groups`, `{name}` has none and would own \
                     every parameter"
                )));
            }
            let mut schedulers = params.schedulers();
            let scheduler = schedulers.find(|(of, _)| *of == name);
            optimizers.push(OptimizerSettings {
                name: name.to_owned(),
                params: optim.clone(),
                scheduler: match scheduler {
                    Some((_, scheduler)) => scheduler.clone(),
                    None => NNSchedulerParams::builder().build()?,
                },
            });
        }
        Ok(Self {
            train: representative(params, &optimizers)?,
            trainer: Some(params.clone()),
            n_epochs: params.n_epochs(),
            seed: params.seed(),
            save_phases: params.save_phase_checkpoints(),
            overwrite: params.overwrite_existing(),
            source: params.resume_from_run_id().map(str::to_owned),
            source_checkpoint: params.resume_from_checkpoint().unwrap_or(LAST).to_owned(),
            resume_mode: params.resume_mode(),
            is_planned: false,
            metrics: params.metrics().to_vec(),
            monitor: params.monitor().cloned(),
            optimizers,
            steps_schedules: params.auto_step_schedulers(),
        })
    }

    /// The number of batches between two updates, which all optimizers have in common.
    ///
    /// # Errors
    /// When they differ.
    pub(crate) fn window(&self) -> Result<usize> {
        let mut windows = self
            .optimizers
            .iter()
            .map(|one| one.params.accumulate_grad_batches());
        let first = windows.next().unwrap_or(1);
        if windows.all(|window| window == first) {
            return Ok(first);
        }
        Err(Error::configuration(
            "an objective updates all optimizers together, their `accumulate_grad_batches` must be equal",
        ))
    }

    /// The seed as 64 bits.
    ///
    /// # Errors
    /// When it is not an integer.
    pub(crate) fn seed(&self) -> Result<Option<u64>> {
        let seed = self.seed.map(|seed| {
            let whole = seed.as_i64().map(i64::cast_unsigned);
            whole
                .ok_or_else(|| Error::configuration(format!("the seed `{seed}` is not an integer")))
        });
        seed.transpose()
    }
}

/// The parameters that the run of several optimizers shows as its only ones: the first by name.
fn representative(
    params: &NNTrainerParams,
    optimizers: &[OptimizerSettings],
) -> Result<NNTrainParams> {
    let first = optimizers.iter().min_by(|a, b| a.name.cmp(&b.name));
    let first = first.ok_or_else(|| Error::configuration("there is no optimizer"))?;
    let mut builder = NNTrainParams::builder(params.n_epochs())
        .optim(first.params.clone())
        .scheduler(&first.scheduler)
        .save_phase_checkpoints(params.save_phase_checkpoints());
    if let Some(seed) = params.seed() {
        builder = builder.seed(seed);
    }
    if let Some(data_id) = params.data_id() {
        builder = builder.data_id(data_id);
    }
    Ok(builder.build()?)
}

fn built_in(params: &OptimParams) -> Result<&NNOptimParams> {
    match params {
        OptimParams::BuiltIn(params) => Ok(params),
        other => Err(Error::unsupported(format!(
            "an optimizer of the class `{}` is one that a Python program registered",
            other.class()
        ))),
    }
}
