//! One session of training: its parts, and the components among them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nnx_net::EvaluateOptions;
use nnx_run::{Data, RunLease};

use crate::before_resume::BeforeResume;
use crate::component::Component;
use crate::component_registry::{ComponentRegistry, RestorePlan};
use crate::error::Result;
use crate::eval_step::EvalStep;
use crate::live::{Callbacks, Live};
use crate::loader::Loader;
use crate::metric_inputs::MetricRules;
use crate::model::Model;
use crate::monitor::MonitorTracker;
use crate::objective::Objective;
use crate::precision::ResolvedPrecision;
use crate::progress::Progress;
use crate::resume_status::ResumeStatus;
use crate::rng_streams::RngStreams;
use crate::settings::Settings;
use crate::train_step::{TrainStep, Window};
use crate::update_engine::UpdateEngine;

/// One session of training, from its reservation to its end.
pub(crate) struct Session<'a> {
    pub(crate) model: &'a mut (dyn Model + 'a),
    pub(crate) live: Live,
    pub(crate) callbacks: Callbacks<'a>,
    pub(crate) train_loader: Box<dyn Loader + 'a>,
    pub(crate) val_loader: Option<Box<dyn Loader + 'a>>,
    pub(crate) step: StepKind<'a>,
    pub(crate) eval_step: Option<Box<dyn EvalStep + 'a>>,
    pub(crate) components: Vec<Box<dyn Component + 'a>>,
    pub(crate) tracker: Option<MonitorTracker>,
    pub(crate) engine: Option<UpdateEngine>,
    pub(crate) registry: ComponentRegistry<ComponentId>,
    pub(crate) options: EvaluateOptions<'a>,
    pub(crate) settings: Settings,
    pub(crate) window: Window,
    pub(crate) accumulate: usize,
    pub(crate) rules: MetricRules,
    /// Whether a summary of each epoch is kept.
    pub(crate) summarizes: bool,
    pub(crate) precision: ResolvedPrecision,
    pub(crate) rng: RngStreams,
    pub(crate) root: PathBuf,
    pub(crate) progress: Box<dyn Progress + 'a>,
    pub(crate) interrupt: Option<Arc<AtomicBool>>,
    pub(crate) start_epoch: i64,
    pub(crate) session_epochs: usize,
    /// The batches so far.
    pub(crate) iter_idx: i64,
    /// The score of the checkpoint `best`, once there is one.
    pub(crate) best: Option<f64>,
    pub(crate) status: ResumeStatus,
    pub(crate) restore: RestorePlan<ComponentId>,
    pub(crate) before_resume: Option<BeforeResume>,
    pub(crate) last_saved: Option<i64>,
    /// The last field: it is dropped when the others have closed their files.
    pub(crate) lease: RunLease,
}

/// The step of a training.
pub(crate) enum StepKind<'a> {
    Default,
    Own(Box<dyn TrainStep + 'a>),
    Objective(Box<dyn Objective + 'a>),
}

/// Identifies a component of a training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComponentId {
    Callback(usize),
    Step,
    EvalStep,
    Explicit(usize),
    Monitor,
    /// The clock of an optimizer's schedule.
    Clock(usize),
    Engine,
}

impl Session<'_> {
    /// Registers every component, in NNx's order.
    ///
    /// # Errors
    /// When a name is not valid, or is taken.
    pub(crate) fn register_components(&mut self) -> Result<()> {
        let callbacks = (0..self.callbacks.list.len()).map(ComponentId::Callback);
        let explicit = (0..self.components.len()).map(ComponentId::Explicit);
        let clocks = (0..self.live.optimizers.iter().len()).map(ComponentId::Clock);
        let ids: Vec<ComponentId> = callbacks
            .chain([ComponentId::Step, ComponentId::EvalStep])
            .chain(explicit)
            .chain([ComponentId::Monitor])
            .chain(clocks)
            .chain([ComponentId::Engine])
            .collect();
        let mut registry = ComponentRegistry::new();
        for id in ids {
            if let Some(component) = self.component(id) {
                registry.register(component, id)?;
            }
        }
        self.registry = registry;
        Ok(())
    }

    pub(crate) fn component(&mut self, id: ComponentId) -> Option<&mut (dyn Component + '_)> {
        match id {
            ComponentId::Callback(at) => self.callbacks.list.get_mut(at)?.component(),
            ComponentId::Step => match &mut self.step {
                StepKind::Default => None,
                StepKind::Own(step) => step.component(),
                StepKind::Objective(objective) => objective.component(),
            },
            ComponentId::EvalStep => self.eval_step.as_mut()?.component(),
            ComponentId::Explicit(at) => Some(self.components.get_mut(at)?.as_mut()),
            ComponentId::Monitor => Some(self.tracker.as_mut()?),
            ComponentId::Clock(at) => {
                let one = self.live.optimizers.iter_mut().nth(at)?;
                Some(one.clock.as_mut()?)
            }
            ComponentId::Engine => Some(self.engine.as_mut()?),
        }
    }

    /// The states of all components, as a training state holds them.
    pub(crate) fn component_states(&mut self) -> Data {
        let registry = std::mem::replace(&mut self.registry, ComponentRegistry::new());
        let states = registry.collect(|id| {
            self.component(id)
                .map_or(Data::None, |component| component.component_state())
        });
        self.registry = registry;
        states
    }

    /// Restores the components that a resumed training has planned: all of them, or none.
    ///
    /// # Errors
    /// When one does not take its state; the others then have theirs back.
    pub(crate) fn restore_components(&mut self) -> Result<()> {
        let plan = std::mem::replace(&mut self.restore, RestorePlan::fresh(Vec::new()));
        let mut before = Vec::new();
        for (_, id, state, version) in &plan.restored {
            let Some(component) = self.component(*id) else {
                continue;
            };
            before.push((
                *id,
                component.component_state(),
                component.component_spec().version,
            ));
            if let Err(error) = component.load_component_state(state, *version) {
                for (id, state, version) in before {
                    if let Some(component) = self.component(id)
                        && let Err(error) = component.load_component_state(&state, version)
                    {
                        let name = component.component_spec().name;
                        let warnings = &mut self.live.flags.warnings;
                        warnings.push(format!("the component `{name}` was not put back: {error}"));
                    }
                }
                return Err(error);
            }
        }
        self.status.restored_components =
            plan.restored.into_iter().map(|(name, ..)| name).collect();
        if let Some(engine) = &self.engine {
            self.live.flags.update_count = Some(engine.commits);
        }
        Ok(())
    }

    /// Whether somebody asked to end the training.
    pub(crate) fn is_interrupted(&self) -> bool {
        let flag = self.interrupt.as_ref();
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}
