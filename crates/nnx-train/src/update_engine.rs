//! The updates of a training with an objective.

use candle_core::Tensor;
use nnx_run::Data;

use crate::clip::clip_grad_norm;
use crate::component::{Component, ComponentSpec, ComponentVersion};
use crate::error::{Error, Result};
use crate::gradients::Gradients;
use crate::loss_term::{LossTerm, TermSum, total_of_sums};
use crate::named_optimizer::Optimizers;
use crate::objective::NonFinite;
use crate::parameter::Parameter;
use crate::update_event::UpdateEvent;

/// Accumulates the terms of a window of batches, and takes one update for each window.
#[derive(Debug)]
pub(crate) struct UpdateEngine {
    non_finite: NonFinite,
    pub(crate) commits: i64,
    skipped: i64,
    update_counts: Vec<(String, i64)>,
    /// The parameters of all optimizers, each once.
    parameters: Vec<Parameter>,
    window: Window,
}

#[derive(Debug, Default)]
struct Window {
    terms: Vec<TermWindow>,
    microbatches: usize,
    is_non_finite: bool,
    /// The gradients of the whole loss, where the window has one batch.
    whole: Option<Gradients>,
}

/// A term over a window.
#[derive(Debug)]
struct TermWindow {
    sum: TermSum,
    gradients: Gradients,
}

impl UpdateEngine {
    pub(crate) fn new(non_finite: NonFinite, optimizers: &Optimizers) -> Self {
        let counts = optimizers.iter().map(|one| (one.name.clone(), 0));
        let mut parameters: Vec<Parameter> = Vec::new();
        for parameter in optimizers.iter().flat_map(|one| &one.parameters) {
            if parameters.iter().all(|known| known.id() != parameter.id()) {
                parameters.push(parameter.clone());
            }
        }
        Self {
            parameters,
            non_finite,
            commits: 0,
            skipped: 0,
            update_counts: counts.collect(),
            window: Window::default(),
        }
    }

    /// Differentiates the terms of a batch; `closes` tells whether the window ends with it.
    ///
    /// # Errors
    /// When the terms do not go with those before, or one is not finite and that is an error.
    pub(crate) fn accumulate(&mut self, terms: &[LossTerm], closes: bool) -> Result<()> {
        self.check(terms)?;
        let is_single = closes && self.window.microbatches == 0;
        self.window.microbatches = self.window.microbatches.saturating_add(1);
        let mut live = Vec::new();
        for term in terms {
            let value = term.numerator_value();
            if !value.is_finite() {
                if self.non_finite == NonFinite::Fail {
                    let what = format!("the term `{}` of the loss is `{value}`", term.name());
                    return Err(Error::diverged(what));
                }
                self.window.is_non_finite = true;
            }
            let at = self.window.add(term);
            if term.factor() != 0.0
                && term.denominator() != Some(0.0)
                && term.numerator().track_op()
            {
                live.push((at, term));
            }
        }
        if self.window.is_non_finite || live.is_empty() {
            return Ok(());
        }
        if is_single {
            let mut whole: Option<Tensor> = None;
            for (_, term) in live {
                let part = (term.numerator() * term.scale())?;
                whole = Some(match whole {
                    None => part,
                    Some(sum) => (sum + part)?,
                });
            }
            if let Some(whole) = whole {
                let mut gradients = Gradients::new();
                gradients.add(&self.parameters, &whole.backward()?)?;
                self.window.whole = Some(gradients);
            }
            return Ok(());
        }
        for (at, term) in live {
            let store = term.numerator().backward()?;
            self.window.terms[at]
                .gradients
                .add(&self.parameters, &store)?;
        }
        Ok(())
    }

    fn check(&self, terms: &[LossTerm]) -> Result<()> {
        if terms.is_empty() {
            return Err(Error::configuration("an objective gives at least one term"));
        }
        for (at, term) in terms.iter().enumerate() {
            let name = term.name();
            if terms.iter().take(at).any(|other| other.name() == name) {
                return Err(Error::configuration(format!(
                    "an objective gives one term `{name}`, got two"
                )));
            }
            let before = self
                .window
                .sum_of(name)
                .map(|at| &self.window.terms[at].sum);
            let changed = before.is_some_and(|sum| !sum.matches(term));
            if changed || !term.factor().is_finite() {
                return Err(Error::configuration(format!(
                    "the term `{name}` keeps its kind and a finite weight within a window"
                )));
            }
        }
        Ok(())
    }

    /// Ends the window with an update, and gives one event for each optimizer; none if there is nothing
    /// to update from.
    ///
    /// # Errors
    /// When a gradient is not finite and that is an error, or an optimizer fails.
    pub(crate) fn commit(
        &mut self,
        optimizers: &mut Optimizers,
        (epoch_idx, batch_idx): (i64, usize),
    ) -> Result<Vec<UpdateEvent>> {
        let window = std::mem::take(&mut self.window);
        if window.microbatches == 0 {
            return Ok(Vec::new());
        }
        if window.is_non_finite {
            self.skipped = self.skipped.saturating_add(1);
            return Ok(Vec::new());
        }
        let sums = window.terms.iter().map(|term| &term.sum);
        let losses = sums
            .clone()
            .filter_map(|sum| Some((sum.name.clone(), sum.value()?)));
        let losses: Vec<_> = losses.collect();
        let Some(loss) = total_of_sums(sums) else {
            return Ok(Vec::new());
        };
        let microbatches = window.microbatches;
        let mut gradients = window.combined(&self.parameters);
        if !gradients.are_finite() {
            if self.non_finite == NonFinite::Fail {
                let what = "a gradient of the window is not finite".to_owned();
                return Err(Error::diverged(what));
            }
            self.skipped = self.skipped.saturating_add(1);
            return Ok(Vec::new());
        }
        for one in optimizers.iter() {
            if let Some(norm) = one.clip_norm {
                clip_grad_norm(&mut gradients, &one.parameters, norm);
            }
        }
        for one in optimizers.iter_mut() {
            one.optimizer.step(&gradients)?;
        }
        self.commits = self.commits.saturating_add(1);
        let events = self.update_counts.iter_mut().map(|(name, count)| {
            *count = count.saturating_add(1);
            UpdateEvent {
                optimizer: name.clone(),
                update_idx: *count,
                epoch_idx,
                batch_idx,
                microbatches,
                losses: losses.clone(),
                loss,
            }
        });
        Ok(events.collect())
    }
}

impl Window {
    /// The number of the term of that name.
    fn sum_of(&self, name: &str) -> Option<usize> {
        self.terms.iter().position(|term| term.sum.name == name)
    }

    /// Adds the value of a batch's term, and gives the number of the term.
    fn add(&mut self, term: &LossTerm) -> usize {
        if let Some(at) = self.sum_of(term.name()) {
            self.terms[at].sum.add(term);
            return at;
        }
        self.terms.push(TermWindow {
            sum: TermSum::from(term),
            gradients: Gradients::new(),
        });
        self.terms.len() - 1
    }

    /// The gradients of the loss over the window: those of each term, scaled, one after the other.
    fn combined(self, parameters: &[Parameter]) -> Gradients {
        if let Some(whole) = self.whole {
            return whole;
        }
        let mut combined = Gradients::new();
        for mut term in self.terms {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a float32 tensor is multiplied by a float32"
            )]
            let factor = term.sum.scale() as f32;
            term.gradients.scale(factor);
            combined.merge(parameters, &term.gradients);
        }
        combined
    }
}

impl Component for UpdateEngine {
    fn component_spec(&self) -> ComponentSpec {
        ComponentSpec::new("nnx.update_engine").optional()
    }

    fn component_state(&self) -> Data {
        let counts = self.update_counts.iter();
        let counts = counts.map(|(name, count)| (name.clone(), Data::Int((*count).into())));
        Data::dict([
            ("commits", Data::Int(self.commits.into())),
            ("skipped", Data::Int(self.skipped.into())),
            ("update_counts", Data::dict(counts)),
        ])
    }

    fn check_component_state(&self, state: &Data, _: ComponentVersion) -> Vec<String> {
        let counts = state.get("update_counts").and_then(Data::pairs);
        let is_count = |data: &Data| count_of(data).is_some();
        let is_whole = counts.is_some_and(|counts| counts.iter().all(|(_, count)| is_count(count)))
            && ["commits", "skipped"]
                .iter()
                .all(|key| state.get(key).is_some_and(is_count));
        if is_whole {
            return Vec::new();
        }
        vec!["the counts of updates are malformed".to_owned()]
    }

    fn load_component_state(&mut self, state: &Data, _: ComponentVersion) -> Result<()> {
        let count = |data: Option<&Data>| data.and_then(count_of).unwrap_or_default();
        self.commits = count(state.get("commits"));
        self.skipped = count(state.get("skipped"));
        let saved = state.get("update_counts");
        for (name, updates) in &mut self.update_counts {
            *updates = count(saved.and_then(|saved| saved.get(name)));
        }
        Ok(())
    }
}

fn count_of(data: &Data) -> Option<i64> {
    let count = i64::try_from(data.as_int()?).ok()?;
    (count >= 0).then_some(count)
}
