//! A callback that records every update and the end of every epoch.

use nnx_net::Generator;
use nnx_params::{State, Value};
use nnx_run::Data;
use nnx_train::{Callback, Context, Result, UpdateEvent};

/// One update of an optimizer.
pub(super) struct SeenUpdate {
    pub(super) generator: Generator,
    pub(super) groups: Vec<State>,
    pub(super) optimizer: String,
}

/// The end of an epoch.
pub(super) struct SeenEpoch {
    pub(super) epoch: i64,
    pub(super) generator: Generator,
    pub(super) updates: usize,
    pub(super) should_stop: bool,
    pub(super) rates: Vec<f64>,
    pub(super) scheduler: Option<Data>,
    pub(super) update_rates: Vec<(i64, f64)>,
    pub(super) weights: Vec<(String, Vec<f32>)>,
}

#[derive(Default)]
pub(super) struct Recorder {
    pub(super) begin: Option<Generator>,
    pub(super) updates: Vec<SeenUpdate>,
    pub(super) epochs: Vec<SeenEpoch>,
    pub(super) weights: Vec<Vec<(String, Vec<f32>)>>,
    /// The settings of each optimizer's groups before its next update.
    pub(super) in_force: Vec<(String, Vec<State>)>,
    /// Whether the training has an objective, whose updates are told one by one.
    pub(super) by_event: bool,
}

impl Recorder {
    fn look(&mut self, ctx: &mut Context<'_>) {
        self.in_force = ctx
            .optimizers()
            .iter()
            .map(|one| {
                let groups = one.optimizer.groups().iter().map(|group| {
                    let mut state = State::new();
                    state.insert("lr", group.lr());
                    if let Some(momentum) = group.momentum() {
                        state.insert("momentum", momentum);
                    }
                    if let Some((first, second)) = group.betas() {
                        state.insert("betas", Value::List(vec![first.into(), second.into()]));
                    }
                    state
                });
                (one.name.clone(), groups.collect())
            })
            .collect();
    }

    fn update(&mut self, ctx: &mut Context<'_>, name: &str) {
        let in_force = self.in_force.iter().find(|(of, _)| of == name);
        self.updates.push(SeenUpdate {
            generator: ctx.model().generator().clone(),
            groups: in_force.unwrap().1.clone(),
            optimizer: name.to_owned(),
        });
        self.weights.push(weights(ctx));
    }
}

fn weights(ctx: &mut Context<'_>) -> Vec<(String, Vec<f32>)> {
    let parameters = ctx.model().parameters().into_iter();
    parameters
        .map(|one| (one.name, one.var.flatten_all().unwrap().to_vec1().unwrap()))
        .collect()
}

impl Callback for Recorder {
    fn on_train_begin(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        self.begin = Some(ctx.model().generator().clone());
        self.look(ctx);
        Ok(())
    }

    fn on_epoch_begin(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        self.look(ctx);
        Ok(())
    }

    fn on_optimizer_update(&mut self, ctx: &mut Context<'_>, event: &UpdateEvent) -> Result<()> {
        self.update(ctx, &event.optimizer);
        Ok(())
    }

    fn on_update(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        if !self.by_event {
            self.update(ctx, "default");
            self.look(ctx);
        }
        Ok(())
    }

    fn on_epoch_end(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        let scheduler = ctx.schedule_state();
        let weights = weights(ctx);
        self.epochs.push(SeenEpoch {
            epoch: ctx.epoch(),
            generator: ctx.model().generator().clone(),
            updates: self.updates.len(),
            should_stop: ctx.stops(),
            rates: ctx
                .optimizer()
                .groups()
                .iter()
                .map(|group| group.lr())
                .collect(),
            scheduler,
            update_rates: ctx.update_rates().to_vec(),
            weights,
        });
        Ok(())
    }
}

/// Ends a training after so many updates.
pub(super) struct StopAt(pub(super) i64);

impl Callback for StopAt {
    fn on_update(&mut self, ctx: &mut Context<'_>) -> Result<()> {
        if ctx.committed_updates() == self.0 {
            ctx.stop_at_update();
        }
        Ok(())
    }
}
