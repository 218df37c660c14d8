//! The epochs of a session.

use nnx_params::{MonitorRecord, MonitorStatus, NNEvaluationDataPoint, NNIterationDataPoint};
use nnx_run::{comparable_metric, program_metadata};

use crate::epoch_summary::EpochSummary;
use crate::error::{Error, ErrorKind, Result};
use crate::eval_step::{EvalContext, evaluate};
use crate::objective_step::{ObjectiveStep, objective_step};
use crate::session::{Session, StepKind};
use crate::train_step::{StepContext, default_train_step};
use crate::trained::Trained;

/// How an epoch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EpochEnd {
    /// With its last batch.
    Complete,
    /// At an update in its middle.
    Abandoned,
}

impl Session<'_> {
    /// Trains all epochs, and gives the run.
    ///
    /// # Errors
    /// The error that ended the training; the epochs that were committed before stay.
    pub(crate) fn train(mut self) -> Result<Trained> {
        let per_epoch = self.train_loader.batches();
        self.progress
            .begin(per_epoch.and_then(|batches| batches.checked_mul(self.session_epochs)));
        let outcome = self.begin_and_train();
        let ended = self.callbacks.end(&mut self.live.context(self.model));
        self.progress.end();
        let end = match (outcome, ended) {
            (Ok(end), Ok(())) => end,
            (Err(error), _) | (Ok(_), Err(error)) => return Err(error),
        };
        if end == EpochEnd::Complete {
            self.save_final()?;
        }
        // A run that was to be overwritten stays as it is where no epoch was saved.
        let run = if self.lease.has_earlier_run() {
            self.live.run.clone()
        } else {
            self.live.history.finish(&self.live.run, &self.root)?
        };
        Ok(Trained {
            run,
            interrupted: self.is_interrupted(),
            stopped: self.live.flags.should_stop || self.live.flags.stop_at_update,
            last_epoch: self.last_saved,
            updates: self.live.flags.committed_updates,
            resume: self.status,
            warnings: self.live.flags.warnings,
        })
    }

    fn begin_and_train(&mut self) -> Result<EpochEnd> {
        self.callbacks.begin(&mut self.live.context(self.model))?;
        if let Err(error) = self.restore_components() {
            self.undo_resume()?;
            return Err(error);
        }
        // Nothing undoes the resume from here on; the copy of the weights can go.
        self.before_resume = None;
        let mut metadata = program_metadata();
        metadata.insert("precision", self.precision.record());
        metadata.insert("resume", self.status.state());
        self.live.run = self.live.run.clone().with_metadata(metadata);
        let live = &mut self.live;
        live.history.open(&live.run, &mut self.lease, &self.root)?;
        for local in 0..self.session_epochs {
            let epoch = self.start_epoch.saturating_add_unsigned(local as u64);
            self.live.flags.epoch = epoch;
            self.live.flags.has_record = false;
            self.train_loader.set_epoch(epoch);
            self.callbacks
                .begin_epoch(&mut self.live.context(self.model))?;
            self.live.parameters = self.model.parameters();
            if self.epoch(local)? == EpochEnd::Abandoned {
                return Ok(EpochEnd::Abandoned);
            }
            let flags = &self.live.flags;
            if flags.should_stop || flags.stop_at_update || self.is_interrupted() {
                break;
            }
        }
        Ok(EpochEnd::Complete)
    }

    fn epoch(&mut self, local: usize) -> Result<EpochEnd> {
        let epoch = self.live.flags.epoch;
        let mut summary = None;
        if self.summarizes {
            let has_outputs = matches!(self.step, StepKind::Default);
            let metrics = if has_outputs {
                self.settings.metrics.as_slice()
            } else {
                &[]
            };
            summary = Some(EpochSummary::new(metrics, self.rules)?);
        }
        self.live.history.begin_epoch();
        for one in self.live.optimizers.iter_mut() {
            if let Some(clock) = &mut one.clock {
                clock.trace.clear();
            }
        }
        if self.batches(summary.as_mut())? == EpochEnd::Abandoned {
            self.live.history.discard_epoch();
            return Ok(EpochEnd::Abandoned);
        }
        if self.live.history.is_epoch_empty() {
            return Err(Error::configuration(format!(
                "the loader gave no batch in epoch {epoch}: there may be fewer rows than a batch has, or \
                 it can be iterated once only"
            )));
        }
        let val = self.validate()?;
        let selection = self.judge(summary.as_ref(), val)?;
        self.step_schedules(selection.as_ref())?;
        self.live.flags.update_rates = match &self.live.optimizers.primary().clock {
            Some(clock) => clock.trace.clone(),
            None => Vec::new(),
        };
        self.live.flags.has_record = true;
        self.live.flags.deferred.clear();
        self.callbacks
            .end_epoch(&mut self.live.context(self.model))?;
        let phase = if self.settings.is_planned {
            usize::try_from(epoch).unwrap_or(usize::MAX)
        } else {
            local
        };
        self.commit(phase, selection.as_ref().map(MonitorRecord::improved))?;
        if let Some(record) = self.live.history.last() {
            let shown = shown(
                record,
                self.live.optimizers.primary().optimizer.learning_rate(),
            );
            self.progress.epoch(record, &shown);
        }
        Ok(EpochEnd::Complete)
    }

    /// Trains the batches of an epoch. Each one is asked for before the one before it is trained, so
    /// that the last is known as the last.
    fn batches(&mut self, mut summary: Option<&mut EpochSummary>) -> Result<EpochEnd> {
        let Self {
            model,
            live,
            callbacks,
            train_loader,
            step,
            engine,
            options,
            settings,
            window,
            accumulate,
            progress,
            interrupt,
            iter_idx,
            last_saved,
            ..
        } = self;
        let is_interrupted = || {
            let flag = interrupt.as_ref();
            flag.is_some_and(|flag| flag.load(std::sync::atomic::Ordering::Relaxed))
        };
        let epoch = live.flags.epoch;
        let mut pass = train_loader.pass(model.generator())?;
        let mut next = pass.next().transpose()?;
        let mut batch_idx = 0_usize;
        while let Some(batch) = next {
            next = pass.next().transpose()?;
            let is_last_batch = next.is_none();
            let one = live.optimizers.primary();
            let counts_updates = one.clock.is_some() && one.is_stepped;
            let rate_before = counts_updates.then(|| one.optimizer.learning_rate());
            let mut ctx = StepContext {
                model: &mut **model,
                live,
                callbacks,
                batch: &batch,
                batch_idx,
                is_last_batch,
                window,
                summary: summary.as_deref_mut(),
                options,
                accumulate: *accumulate,
            };
            let record = match step {
                StepKind::Default => default_train_step(&mut ctx),
                StepKind::Own(step) => step.step(&mut ctx),
                StepKind::Objective(objective) => objective_step(
                    &mut ctx,
                    ObjectiveStep {
                        objective: objective.as_mut(),
                        engine,
                        announces: settings.trainer.is_none(),
                    },
                ),
            };
            let record = record.map_err(|error| located(error, epoch, batch_idx, *last_saved))?;
            if let Some(summary) = summary.as_deref_mut() {
                summary.add(&record, batch.samples());
            }
            let rate =
                rate_before.unwrap_or_else(|| live.optimizers.primary().optimizer.learning_rate());
            let count = engine.as_ref().map(|engine| engine.commits.into());
            let batch_number = i64::try_from(batch_idx).unwrap_or(i64::MAX);
            let record = NNIterationDataPoint::new(rate, *iter_idx, epoch, batch_number, record)
                .with_update_count(count);
            progress.batch(&record);
            live.history.append(record)?;
            *iter_idx = iter_idx.saturating_add(1);
            batch_idx = batch_idx.saturating_add(1);
            if live.flags.stop_at_update || is_interrupted() {
                if !is_last_batch {
                    return Ok(EpochEnd::Abandoned);
                }
                live.flags.should_stop = true;
            }
        }
        Ok(EpochEnd::Complete)
    }

    /// The record of the epoch's validation, if there is a loader for it.
    fn validate(&mut self) -> Result<Option<NNEvaluationDataPoint>> {
        let Some(loader) = &mut self.val_loader else {
            return Ok(None);
        };
        let mut ctx = EvalContext {
            model: &mut *self.model,
            loader: loader.as_mut(),
            epoch_idx: self.live.flags.epoch,
            metrics: &self.settings.metrics,
            options: &self.options,
        };
        let point = match &mut self.eval_step {
            Some(step) => step.evaluate(&mut ctx),
            None => evaluate(&mut ctx, self.rules),
        };
        // The caller knows which of its data is meant.
        point.map(Some).map_err(|error| match error.into_kind() {
            ErrorKind::Net(error) => ErrorKind::Validation(error).into(),
            kind => kind.into(),
        })
    }

    /// Puts validation, summary and the monitor's decision on the epoch's last record.
    fn judge(
        &mut self,
        summary: Option<&EpochSummary>,
        val: Option<NNEvaluationDataPoint>,
    ) -> Result<Option<MonitorRecord>> {
        let Some(mut last) = self.live.history.last().cloned() else {
            return Ok(None);
        };
        let mut selection = None;
        if let Some(summary) = summary {
            let train = summary.result()?;
            if let Some(tracker) = &mut self.tracker {
                let epoch = self.live.flags.epoch;
                let train = train.as_ref().unwrap_or_else(|| last.train_edp());
                let record = tracker.observe(tracker.value(Some(train), val.as_ref()), epoch)?;
                if record.status() == MonitorStatus::Missing {
                    self.warn_once("no value of the monitor", format!(
                        "epoch {epoch}: the monitor `{}` has no value, the epoch decides nothing",
                        record.monitor().key()
                    ));
                }
                selection = Some(record);
            }
            last = last.with_epoch_summary(train, selection.clone());
        }
        self.live.history.replace_last(last.with_val_edp(val))?;
        Ok(selection)
    }

    /// Steps the schedules that count epochs.
    fn step_schedules(&mut self, selection: Option<&MonitorRecord>) -> Result<()> {
        if !self.settings.steps_schedules {
            return Ok(());
        }
        let Some(last) = self.live.history.last() else {
            return Ok(());
        };
        let metric = comparable_metric(last.val_edp(), Some(last.train_edp()));
        let mut is_skipped = false;
        for one in self
            .live
            .optimizers
            .iter_mut()
            .filter(|one| one.clock.is_none())
        {
            let (scheduler, optimizer) = (&mut one.scheduler, &mut one.optimizer);
            let Some(plateau) = scheduler.plateau() else {
                scheduler.step(optimizer)?;
                continue;
            };
            let worst = plateau.worst();
            let value = match selection {
                None => metric.found.map(|(_, value)| value),
                Some(record) => match record.status() {
                    MonitorStatus::Missing => continue,
                    MonitorStatus::Nonfinite => Some(worst),
                    _ => record.value().map(|value| value.as_f64()),
                },
            };
            match value {
                Some(value) => scheduler.step_with(value, optimizer)?,
                None => is_skipped = true,
            }
        }
        let epoch = self.live.flags.epoch;
        let rejected = metric.rejected.join(", ");
        if is_skipped {
            self.live.flags.warnings.push(format!(
                "epoch {epoch}: the plateau schedule took no step, there is no finite value ({rejected})"
            ));
        } else if selection.is_none() && !rejected.is_empty() {
            self.live
                .flags
                .warnings
                .push(format!("epoch {epoch}: passed over {rejected}"));
        }
        Ok(())
    }

    fn warn_once(&mut self, key: &'static str, what: String) {
        let warnings = &mut self.live.flags.warnings;
        if !self.live.flags.warned.contains(&key) {
            self.live.flags.warned.push(key);
            warnings.push(what);
        }
    }
}

/// The text that NNx shows of an epoch.
fn shown(record: &NNIterationDataPoint, rate: f64) -> String {
    let number = |value: Option<f64>| value.map_or("n/a".to_owned(), |value| format!("{value:.4}"));
    let (name, value) = match record.selection() {
        Some(selection) => {
            let value = selection.value().map(|value| value.as_f64());
            (selection.monitor().key(), value)
        }
        None => {
            let metric = comparable_metric(record.val_edp(), Some(record.train_edp()));
            ("error".to_owned(), metric.found.map(|(_, value)| value))
        }
    };
    format!("{name}={}, lr={rate:.4}", number(value))
}

/// The same error with the place where the training diverged, and the epoch that is saved.
fn located(error: Error, epoch: i64, batch: usize, saved: Option<i64>) -> Error {
    match error.into_kind() {
        ErrorKind::Diverged { what } => {
            let saved = match saved {
                Some(saved) => format!("the checkpoint `last` is that of epoch {saved}"),
                None => "no epoch was saved".to_owned(),
            };
            Error::diverged(format!(
                "epoch {epoch}, batch {batch}: {what}; {saved}. A smaller learning rate or clipped \
                 gradients may help"
            ))
        }
        kind => kind.into(),
    }
}
