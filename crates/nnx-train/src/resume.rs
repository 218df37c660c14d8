//! Going on from the checkpoint of another run.

use nnx_params::ResumeMode;
use nnx_run::{Counters, Data, OptimizerState, TrainingState};

use crate::before_resume::BeforeResume;
use crate::component_registry::RestorePlan;
use crate::error::{Error, Result};
use crate::named_optimizer::NamedOptimizer;
use crate::resume_source::ResumeSource;
use crate::resume_status::{ResumeStatus, StartMode};
use crate::rng_streams::restore;
use crate::scheduler_clock::{counts_updates, has_horizon};
use crate::session::Session;

/// The state of one optimizer and its schedule.
struct SavedOptimizer<'a> {
    state: OptimizerState,
    scheduler: Option<(&'a Data, Option<&'a str>)>,
}

impl Session<'_> {
    /// Goes on from the checkpoint that the parameters name, if they name one. Everything is checked
    /// before anything changes.
    ///
    /// # Errors
    /// When the checkpoint is not one that this training can go on from.
    pub(crate) fn resume(&mut self) -> Result<()> {
        let Some(id) = self.settings.source.clone() else {
            return Ok(());
        };
        let source = ResumeSource::read(self, &id)?;
        let epoch = source.checkpoint.idp.epoch_idx().as_i64();
        self.status = ResumeStatus {
            mode: StartMode::WeightsOnly,
            source_run_id: Some(id),
            source_checkpoint: Some(source.tag.to_string()),
            source_epoch: epoch,
            ..ResumeStatus::default()
        };
        if let Some(manifest) = &source.manifest {
            let generation = manifest.generation();
            self.status.source_generation = generation.and_then(|n| i64::try_from(n).ok());
            self.status.source_checkpoint_id = manifest.checkpoint_id().map(str::to_owned);
        }
        let before = self.snapshot()?;
        let restored = match &source.state {
            Some(state) => self.resume_state(&source, state),
            None => self.resume_weights(&source, epoch.unwrap_or_default()),
        };
        if let Err(error) = restored {
            self.put_back(before)?;
            return Err(error);
        }
        self.before_resume = Some(before);
        Ok(())
    }

    fn resume_weights(&mut self, source: &ResumeSource, epoch: i64) -> Result<()> {
        self.session_epochs = self.epochs_to_train(source, epoch.saturating_add(1), None)?;
        self.model.load_state_dict(&source.checkpoint.net_state)?;
        self.start_epoch = epoch.saturating_add(1);
        self.status.fresh_components = self.registry.names();
        if self.settings.resume_mode != ResumeMode::WeightsOnly {
            self.live.flags.warnings.push(format!(
                "`{}` has no training state: its weights are restored, all else begins afresh",
                source.label
            ));
        }
        Ok(())
    }

    fn resume_state(&mut self, source: &ResumeSource, state: &TrainingState) -> Result<()> {
        let saved = self.saved_optimizers(state)?;
        self.check_optimizers(&saved)?;
        self.check_precision(state)?;
        let completed = state
            .completed_epoch()
            .and_then(|epoch| i64::try_from(epoch).ok());
        let epoch = completed.or(source.checkpoint.idp.epoch_idx().as_i64());
        let start = epoch.unwrap_or_default().saturating_add(1);
        let counters = state.counters().unwrap_or_default();
        let epochs = self.epochs_to_train(source, start, Some(&counters))?;
        if self.settings.is_planned {
            self.plan_updates(epochs);
        }
        self.check_horizons(start.saturating_add_unsigned(epochs as u64))?;
        let plan = self.plan_components(state)?;

        self.model.load_state_dict(&source.checkpoint.net_state)?;
        for (one, saved) in self.live.optimizers.iter_mut().zip(saved) {
            one.optimizer.load_state(&saved.state)?;
            if let Some((state, _)) = saved.scheduler {
                one.scheduler.load_state(state)?;
            }
            if let Some(clock) = &mut one.clock {
                clock.count = one.scheduler.steps();
            }
        }
        if let Some(streams) = state.rng() {
            restore(streams, self.model.generator(), self.train_loader.as_mut())?;
            self.rng = self.rng.restored(streams);
        }
        self.start_epoch = start;
        self.session_epochs = epochs;
        if self.settings.is_planned {
            self.iter_idx = counters.global_step.unwrap_or_default();
            self.live.flags.committed_updates = counters.committed_updates.unwrap_or_default();
        }
        self.status.mode = StartMode::Stateful;
        self.status.fresh_components.clone_from(&plan.fresh);
        self.restore = plan;
        Ok(())
    }

    /// The saved optimizers, in the order of the training's.
    fn saved_optimizers<'s>(&self, state: &'s TrainingState) -> Result<Vec<SavedOptimizer<'s>>> {
        if self.settings.trainer.is_none() {
            let optimizer = state.optimizer()?;
            let state_of = optimizer
                .ok_or_else(|| Error::resume("the checkpoint has no state of an optimizer"))?;
            return Ok(vec![SavedOptimizer {
                state: state_of,
                scheduler: state.scheduler(),
            }]);
        }
        let optimizers = state.optimizers()?;
        let schedulers = state.schedulers();
        let mut found = Vec::new();
        for one in self.live.optimizers.iter() {
            let optimizer = optimizers.iter().find(|(name, _)| *name == one.name);
            let scheduler = schedulers.iter().find(|(name, _, _)| *name == one.name);
            let (Some((_, optimizer)), Some((_, scheduler, class))) = (optimizer, scheduler) else {
                return Err(names_differ(&one.name));
            };
            found.push(SavedOptimizer {
                state: optimizer.clone(),
                scheduler: Some((scheduler, *class)),
            });
        }
        if let Some((name, _)) = optimizers
            .iter()
            .find(|(name, _)| self.live.optimizers.iter().all(|one| one.name != *name))
        {
            return Err(names_differ(name));
        }
        Ok(found)
    }

    fn check_optimizers(&self, saved: &[SavedOptimizer<'_>]) -> Result<()> {
        for (one, saved) in self.live.optimizers.iter().zip(saved) {
            let class = one.optimizer.class();
            if let Some(found) = saved.state.class().filter(|found| *found != class) {
                return Err(Error::resume(format!(
                    "the checkpoint has the optimizer {found}, this training {class}"
                )));
            }
            let Some((state, found)) = saved.scheduler else {
                continue;
            };
            let class = one.scheduler.class();
            if let Some(found) = found.filter(|found| *found != class) {
                return Err(Error::resume(format!(
                    "the checkpoint has the schedule {found}, this training {class}"
                )));
            }
            one.optimizer.check_topology(&saved.state)?;
            check_plateau(one, state)?;
        }
        Ok(())
    }

    fn check_precision(&self, state: &TrainingState) -> Result<()> {
        let record = state.get("precision");
        let saved = record.and_then(|record| record.get("effective"));
        let has_scaler = state.scaler().is_some();
        let fallback = if has_scaler { "fp16" } else { "fp32" };
        let saved = saved.and_then(Data::as_str).unwrap_or(fallback);
        let effective = self.precision.effective();
        if saved != effective || has_scaler {
            return Err(Error::resume(format!(
                "the checkpoint was trained in {saved}, this training is in {effective}: resume with \
                 `weights_only` to switch"
            )));
        }
        Ok(())
    }

    /// The number of epochs that are left to train.
    fn epochs_to_train(
        &self,
        source: &ResumeSource,
        start: i64,
        counters: Option<&Counters>,
    ) -> Result<usize> {
        let n_epochs = self.settings.n_epochs;
        if !self.settings.is_planned {
            return Ok(n_epochs);
        }
        let label = &source.label;
        let planned = counters.filter(|counters| counters.global_step.is_some());
        let planned = planned
            .and_then(|counters| counters.planned_n_epochs)
            .ok_or_else(|| {
                Error::resume(format!(
                    "`{label}` has no plan to go on with, resume it with `additional` epochs"
                ))
            })?;
        if usize::try_from(planned) != Ok(n_epochs) {
            return Err(Error::resume(format!(
                "`{label}` planned {planned} epochs, this training {n_epochs}: both must be equal"
            )));
        }
        let left = i64::try_from(n_epochs)
            .unwrap_or(i64::MAX)
            .saturating_sub(start);
        usize::try_from(left)
            .ok()
            .filter(|left| *left > 0)
            .ok_or_else(|| {
                Error::resume(format!(
                    "`{label}` has finished its plan of {n_epochs} epochs"
                ))
            })
    }

    /// Tells the clocks how many updates are still to come.
    fn plan_updates(&mut self, epochs: usize) {
        let planned = self.planned_updates(epochs);
        for clock in self
            .live
            .optimizers
            .iter_mut()
            .filter_map(|one| one.clock.as_mut())
        {
            clock.planned = planned;
        }
    }

    /// Checks that schedules with a last step reach the end of the training.
    ///
    /// # Errors
    /// When one does not.
    pub(crate) fn check_horizons(&self, end: i64) -> Result<()> {
        for one in &self.settings.optimizers {
            let scheduler = &one.scheduler;
            if !has_horizon(scheduler) {
                continue;
            }
            let Some(total) = scheduler.total_steps() else {
                return Err(Error::resume(
                    "a resumed schedule with a last step needs `total_steps`, one number for all its \
                     sessions",
                ));
            };
            if !counts_updates(scheduler) && usize::try_from(end).is_ok_and(|end| end > total) {
                return Err(Error::resume(format!(
                    "the training would reach epoch {end}, beyond the {total} of the schedule's \
                     `total_steps`"
                )));
            }
        }
        Ok(())
    }

    fn plan_components(
        &mut self,
        state: &TrainingState,
    ) -> Result<RestorePlan<crate::session::ComponentId>> {
        let registry = std::mem::replace(
            &mut self.registry,
            crate::component_registry::ComponentRegistry::new(),
        );
        let plan = match state.component_entries() {
            Err(error) => Err(error.into()),
            Ok(None) => {
                let names = registry.names();
                if !names.is_empty() {
                    self.live.flags.warnings.push(format!(
                        "the checkpoint has no states of components, {} begin afresh",
                        names.join(", ")
                    ));
                }
                Ok(RestorePlan::fresh(names))
            }
            Ok(Some(saved)) => registry.plan(&saved, |place, state, version| {
                let component = self.component(place);
                component.map_or_else(Vec::new, |component| {
                    component.check_component_state(state, version)
                })
            }),
        };
        self.registry = registry;
        plan
    }

    /// Puts weights and random numbers back as they were before the resume.
    ///
    /// # Errors
    /// When the weights cannot be set.
    pub(crate) fn undo_resume(&mut self) -> Result<()> {
        match self.before_resume.take() {
            Some(before) => self.put_back(before),
            None => Ok(()),
        }
    }

    fn snapshot(&mut self) -> Result<BeforeResume> {
        let loader = self.train_loader.generators();
        let loader = loader
            .into_iter()
            .map(|generator| generator.clone())
            .collect();
        Ok(BeforeResume {
            weights: self.model.state_dict()?,
            default: self.model.generator().clone(),
            loader,
            rng: self.rng.clone(),
        })
    }

    fn put_back(&mut self, before: BeforeResume) -> Result<()> {
        *self.model.generator() = before.default;
        for (generator, saved) in self
            .train_loader
            .generators()
            .into_iter()
            .zip(before.loader)
        {
            *generator = saved;
        }
        self.rng = before.rng;
        self.model.load_state_dict(&before.weights)
    }
}

/// Checks that a plateau schedule goes on under the rule under which it was saved.
fn check_plateau(one: &NamedOptimizer, saved: &Data) -> Result<()> {
    if one.scheduler.plateau().is_none() {
        return Ok(());
    }
    let built = one.scheduler.state();
    for key in ["mode", "threshold_mode", "threshold"] {
        let (saved, built) = (saved.get(key), built.get(key));
        let number = |data: Option<&Data>| data.and_then(Data::as_f64);
        let text = |data: Option<&Data>| data.and_then(Data::as_str).map(str::to_owned);
        if number(saved) != number(built) || text(saved) != text(built) {
            return Err(Error::resume(format!(
                "the plateau schedule was saved with another `{key}`: resume with the same monitor and \
                 threshold, or with `weights_only`"
            )));
        }
    }
    Ok(())
}

#[cold]
fn names_differ(name: &str) -> Error {
    Error::resume(format!(
        "the checkpoint and this training have other optimizers: `{name}` is in one of them only"
    ))
}
