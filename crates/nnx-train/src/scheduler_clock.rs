//! A schedule that counts updates.

use nnx_params::{NNSchedulerParams, SchedulerClock as Clock, Schedulers};
use nnx_run::Data;

use crate::component::{Component, ComponentSpec, ComponentVersion};
use crate::error::Result;

/// The steps of a schedule that counts the updates of one optimizer, and how many there may be.
#[derive(Clone, Debug)]
pub(crate) struct SchedulerClock {
    owner: String,
    component: String,
    horizon: Option<usize>,
    /// The updates still to come, if they are known.
    pub(crate) planned: Option<usize>,
    /// The steps that the schedule has taken.
    pub(crate) count: i64,
    /// The number of the step, and the rate after it, of this epoch.
    pub(crate) trace: Vec<(i64, f64)>,
}

/// Whether a schedule has a last step.
pub(crate) fn has_horizon(params: &NNSchedulerParams) -> bool {
    matches!(
        params.kind(),
        Some(Schedulers::OneCycle | Schedulers::LinearWarmupDecay)
    )
}

/// Whether a schedule counts updates.
pub(crate) fn counts_updates(params: &NNSchedulerParams) -> bool {
    params.clock() == Clock::OptimizerUpdate
}

impl SchedulerClock {
    /// The clock of the schedule of the optimizer of that name, with the name of its component.
    pub(crate) fn new(
        owner: &str,
        component: String,
        horizon: Option<usize>,
        planned: Option<usize>,
    ) -> Self {
        Self {
            owner: owner.to_owned(),
            component,
            horizon,
            planned,
            count: 0,
            trace: Vec::new(),
        }
    }
}

impl Component for SchedulerClock {
    fn component_spec(&self) -> ComponentSpec {
        ComponentSpec::new(&self.component)
    }

    fn component_state(&self) -> Data {
        let horizon = self.horizon.map(|horizon| Data::Int(horizon as i128));
        Data::dict([
            (
                "clock",
                Data::Str(Clock::OptimizerUpdate.value().to_owned()),
            ),
            ("owner", Data::Str(self.owner.clone())),
            ("count", Data::Int(self.count.into())),
            ("horizon", horizon.unwrap_or(Data::None)),
        ])
    }

    fn check_component_state(&self, state: &Data, _: ComponentVersion) -> Vec<String> {
        let mut problems = Vec::new();
        let text = |key| state.get(key).and_then(Data::as_str);
        if text("clock") != Some(Clock::OptimizerUpdate.value())
            || text("owner") != Some(&self.owner)
        {
            problems.push(format!(
                "the checkpoint's schedule does not count the updates of `{}`",
                self.owner
            ));
        }
        let horizon = state.get("horizon").and_then(Data::as_int);
        if horizon != self.horizon.map(|horizon| horizon as i128) {
            problems
                .push("the schedule has another `total_steps` than the checkpoint's".to_owned());
        }
        let count = state.get("count").and_then(Data::as_int);
        match count.and_then(|count| usize::try_from(count).ok()) {
            None => problems.push("the number of updates is malformed".to_owned()),
            Some(count) => {
                if let (Some(horizon), Some(planned)) = (self.horizon, self.planned)
                    && count.saturating_add(planned) > horizon
                {
                    problems.push(format!(
                        "{planned} more updates after {count} pass the {horizon} of the schedule, its \
                         `total_steps`"
                    ));
                }
            }
        }
        problems
    }

    fn load_component_state(&mut self, _: &Data, _: ComponentVersion) -> Result<()> {
        // The position is the schedule's own, which its state restores.
        Ok(())
    }
}
