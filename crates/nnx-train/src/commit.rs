//! Saving an epoch: the history, then the checkpoint that commits it, then the others.

use nnx_checkpoint::{CheckpointFormat, NNCheckpoint};
use nnx_params::{Checkpoints, NNIterationDataPoint};
use nnx_run::{CheckpointStore, Counters, Data, TrainingState, comparable_metric};

use crate::error::Result;
use crate::model::checkpoint_of;
use crate::phase_tag::phase_tag;
use crate::session::Session;

impl Session<'_> {
    /// Saves an epoch; `phase` is its number for the tags of phases, `is_best` what the monitor decided.
    ///
    /// # Errors
    /// When writing fails. If the epoch was not committed then, the history is as before it.
    pub(crate) fn commit(&mut self, phase: usize, is_best: Option<bool>) -> Result<()> {
        self.lease.replace()?;
        self.live.history.save_epoch(&self.live.run, &self.root)?;
        let store = self.live.run.store(&self.root)?;
        if let Err(error) = self.save_checkpoints(&store, phase, is_best) {
            let epoch = self.live.flags.epoch;
            let last = store.load(&Checkpoints::Last.into()).ok().flatten();
            let committed = last.and_then(|last| last.idp.epoch_idx().as_i64());
            if committed != Some(epoch) {
                self.live.history.roll_back(&self.live.run, &self.root)?;
            }
            return Err(error);
        }
        for (tag, checkpoint) in std::mem::take(&mut self.live.flags.deferred) {
            checkpoint.to_file(store.path(&tag), CheckpointFormat::Pickle)?;
        }
        Ok(())
    }

    fn save_checkpoints(
        &mut self,
        store: &CheckpointStore,
        phase: usize,
        is_best: Option<bool>,
    ) -> Result<()> {
        let Some(record) = self.live.history.last().cloned() else {
            return Ok(());
        };
        let score = score(&record);
        let checkpoint = checkpoint_of(self.model, record)?;
        let state = self.training_state()?;
        let save = |tag: Checkpoints| store.save(&tag.into(), &checkpoint, Some(&state));
        save(Checkpoints::Last)?;
        self.last_saved = Some(self.live.flags.epoch);
        let tag = phase_tag(phase, self.settings.n_epochs);
        if let Some(tag) = tag.filter(|_| self.settings.save_phases) {
            save(tag)?;
        }
        if is_best.unwrap_or_else(|| self.best.is_none_or(|best| score < best)) {
            save(Checkpoints::Best)?;
            self.best = Some(score);
        }
        Ok(())
    }

    /// Writes `last` once more from the model as it is now.
    ///
    /// # Errors
    /// When writing fails.
    pub(crate) fn save_final(&mut self) -> Result<()> {
        let Some(record) = self.live.history.last().cloned() else {
            return Ok(());
        };
        let checkpoint: NNCheckpoint = checkpoint_of(self.model, record)?;
        let state = self.training_state()?;
        let store = self.live.run.store(&self.root)?;
        store.save(&Checkpoints::Last.into(), &checkpoint, Some(&state))?;
        Ok(())
    }

    /// The state from which a training goes on after this epoch.
    fn training_state(&mut self) -> Result<TrainingState> {
        let mut state = TrainingState::new();
        if self.settings.trainer.is_some() {
            let mut optimizers = Vec::new();
            let mut schedulers = Vec::new();
            for one in self.live.optimizers.iter() {
                optimizers.push((one.name.clone(), one.optimizer.state()?));
                let class = one.scheduler.class();
                schedulers.push((one.name.clone(), one.scheduler.state(), class));
            }
            state.set_optimizers(&optimizers);
            state.set_schedulers(schedulers);
        } else {
            let one = self.live.optimizers.primary();
            state.set_optimizer(&one.optimizer.state()?);
            state.set_scheduler(one.scheduler.state(), one.scheduler.class());
            let planned = self
                .start_epoch
                .checked_add_unsigned(self.session_epochs as u64);
            state.set_counters(&Counters {
                global_step: Some(self.iter_idx),
                committed_updates: Some(self.live.flags.committed_updates),
                planned_n_epochs: planned,
            });
        }
        let rng = self
            .rng
            .capture(self.model.generator(), self.train_loader.as_mut())?;
        state.set("rng", rng);
        state.set_completed_epoch(self.live.flags.epoch);
        let components = self.component_states();
        state.set("components", components);
        state.set("precision", Data::from(&self.precision.record().into()));
        Ok(state)
    }
}

/// The score by which epochs are compared if no monitor is declared.
fn score(record: &NNIterationDataPoint) -> f64 {
    let metric = comparable_metric(record.val_edp(), Some(record.train_edp()));
    metric.found.map_or(f64::INFINITY, |(_, value)| value)
}
