//! From the configuration of a training to its reserved run. A refusal here leaves nothing on disk.

mod checks;
mod schedules;

use nnx_params::{MonitorSpec, NetDescriptor, Nets, ResumeMode};
use nnx_run::NNRun;

use crate::component_registry::{ComponentRegistry, RestorePlan};
use crate::context::Flags;
use crate::error::{Error, Result};
use crate::history::History;
use crate::live::Live;
use crate::model::Model;
use crate::monitor::MonitorTracker;
use crate::optimizer::Optimizer;
use crate::precision::{ResolvedPrecision, UpdateOwner};
use crate::progress::Progress;
use crate::resume_status::ResumeStatus;
use crate::rng_streams::RngStreams;
use crate::session::{Session, StepKind};
use crate::train_step::Window;
use crate::training::Training;
use crate::update_engine::UpdateEngine;
use checks::{Checks, rules};
use schedules::schedule;

/// Shows nothing.
struct NoProgress;

impl Progress for NoProgress {}

impl<'a> Training<'a> {
    /// Checks everything, and reserves the run.
    ///
    /// # Errors
    /// When something is refused; nothing is left on disk then.
    pub(crate) fn reserve(self) -> Result<Session<'a>> {
        let Self {
            model,
            settings,
            train_loader,
            val_loader,
            mut callbacks,
            components,
            step,
            eval_step,
            objective,
            options,
            history,
            salt,
            root,
            progress,
            interrupt,
        } = self;
        let step = match (step, objective) {
            (Some(_), Some(_)) => {
                return Err(Error::configuration(
                    "a step and an objective exclude each other: either of them updates the weights",
                ));
            }
            (Some(step), None) => StepKind::Own(step),
            (None, Some(objective)) => StepKind::Objective(objective),
            (None, None) => StepKind::Default,
        };
        if history.is_some() && callbacks.list.iter().any(|one| one.needs_all_records()) {
            return Err(Error::configuration(
                "a callback needs all records, and a training with a journal keeps the last only",
            ));
        }
        let settings = settings?;
        let is_trainer = settings.trainer.is_some();
        let owner = match &step {
            StepKind::Own(_) => UpdateOwner::Step,
            _ if is_trainer => UpdateOwner::Trainer,
            _ => UpdateOwner::Loop,
        };
        let precision = ResolvedPrecision::resolve(model.params(), owner)?;
        let rules = rules(model);
        let is_default = matches!(step, StepKind::Default);
        let checks = Checks {
            settings: &settings,
            has_validation: val_loader.is_some(),
            uses_model_metrics: is_default || eval_step.is_none(),
            is_default,
        };
        checks.metrics(model, rules)?;
        let tracker = match &settings.monitor {
            None => None,
            Some(monitor) => Some(MonitorTracker::new(monitor, &settings.metrics)?),
        };
        let mut monitors: Vec<MonitorSpec> = tracker.iter().map(|one| one.spec().clone()).collect();
        for callback in &mut callbacks.list {
            monitors.extend(callback.monitor(&settings.metrics)?);
        }
        monitors
            .iter()
            .try_for_each(|monitor| checks.monitor(monitor))?;
        let train_loader = train_loader
            .ok_or_else(|| Error::configuration("a training needs data: set its train_loader"))?;
        if is_trainer && is_default {
            return Err(Error::configuration(
                "a training with several optimizers needs a step or an objective",
            ));
        }
        if is_default && is_encoder(model) {
            return Err(Error::configuration(
                "a `vit` gives features and no classes, it needs an objective or a step of its own",
            ));
        }
        let parameters = model.parameters();
        if parameters.iter().all(|parameter| !parameter.requires_grad) {
            return Err(Error::configuration(
                "the model has no parameter to train, all are frozen",
            ));
        }
        if settings.is_planned && settings.source.is_none() {
            return Err(Error::configuration(
                "planned epochs go on with the plan of a run, there is no run to resume",
            ));
        }
        if let Some(seed) = settings.seed()? {
            *model.generator() = nnx_net::Generator::new(seed);
        }
        let rng = RngStreams::seeded(model.generator().initial_seed());
        let accumulate = match &step {
            StepKind::Objective(_) => settings.window()?,
            _ => settings
                .optimizers
                .first()
                .map_or(1, |one| one.params.accumulate_grad_batches()),
        };
        let mut built = Vec::new();
        for one in &settings.optimizers {
            let optimizer = if is_trainer {
                Optimizer::strict(&one.params, parameters.clone())?
            } else {
                Optimizer::new(&one.params, parameters.clone())?
            };
            built.push((one.name.as_str(), optimizer));
        }
        let mut step = step;
        if let StepKind::Objective(objective) = &mut step {
            let owners: Vec<_> = built.iter().map(|(name, one)| (*name, one)).collect();
            objective.check_run(model, &owners)?;
        }
        let run = NNRun::builder(
            model.params().clone(),
            model.net_params().cloned(),
            settings.train.clone(),
        )
        .trainer(settings.trainer.clone())
        .transforms(model.transforms().iter().cloned());
        let run = match salt {
            Some(salt) => run.salt(salt).build()?,
            None => run.build()?,
        };
        let lease = if settings.overwrite {
            run.reserve_to_replace(&root)?
        } else {
            run.reserve(&root, false)?
        };
        let summarizes = !settings.metrics.is_empty() || !monitors.is_empty();
        let optimizers = schedule(
            &settings,
            built.into_iter().map(|(_, optimizer)| optimizer).collect(),
            tracker.as_ref(),
            planned_updates(
                owns_windows(&step),
                train_loader.batches(),
                accumulate,
                settings.n_epochs,
            ),
        )?;
        Ok(Session {
            live: Live {
                run,
                optimizers,
                parameters,
                history: History::new(history),
                metrics: settings.metrics.clone(),
                flags: Flags::default(),
            },
            model,
            callbacks,
            train_loader,
            val_loader,
            step,
            eval_step,
            components,
            tracker,
            engine: None,
            registry: ComponentRegistry::new(),
            options,
            session_epochs: settings.n_epochs,
            settings,
            window: Window::default(),
            accumulate,
            rules,
            summarizes,
            precision,
            rng,
            root,
            progress: progress.unwrap_or_else(|| Box::new(NoProgress)),
            interrupt,
            start_epoch: 0,
            iter_idx: 0,
            best: None,
            status: ResumeStatus::default(),
            restore: RestorePlan::fresh(Vec::new()),
            before_resume: None,
            last_saved: None,
            lease,
        })
    }
}

impl Session<'_> {
    /// Registers the components, and resumes.
    ///
    /// # Errors
    /// When a component's name is taken, or the checkpoint is not one to go on from.
    pub(crate) fn prepare(&mut self) -> Result<()> {
        if let StepKind::Objective(objective) = &self.step {
            let engine = UpdateEngine::new(objective.non_finite(), &self.live.optimizers);
            self.live.flags.update_count = Some(engine.commits);
            self.engine = Some(engine);
        }
        self.register_components()?;
        if self.settings.source.is_some() && self.settings.resume_mode != ResumeMode::WeightsOnly {
            self.check_horizons(0)?;
        }
        self.resume()
    }

    /// The updates of so many epochs, if they are known.
    pub(crate) fn planned_updates(&self, epochs: usize) -> Option<usize> {
        let batches = self.train_loader.batches();
        planned_updates(owns_windows(&self.step), batches, self.accumulate, epochs)
    }
}

/// Whether the windows of batches are the loop's.
fn owns_windows(step: &StepKind<'_>) -> bool {
    match step {
        StepKind::Default | StepKind::Objective(_) => true,
        StepKind::Own(step) => step.owns_windows(),
    }
}

fn planned_updates(
    owns_windows: bool,
    batches: Option<usize>,
    window: usize,
    epochs: usize,
) -> Option<usize> {
    let updates = batches?.div_ceil(window.max(1)).saturating_mul(epochs);
    owns_windows.then_some(updates.max(1))
}

/// Whether a net gives features.
fn is_encoder(model: &(dyn Model + '_)) -> bool {
    matches!(model.params().net(), Some(NetDescriptor::Net(Nets::Vit)))
}
