//! Predicting the next token.

mod sums;

use candle_core::{DType, Tensor};
use nnx_net::Batch;
use nnx_params::NNEvaluationDataPoint;
use nnx_run::Data;

use crate::component::{Component, ComponentSpec, ComponentVersion};
use crate::error::{Error, Result};
use crate::eval_step::{EvalContext, EvalStep};
use crate::loss_term::LossTerm;
use crate::objective::{NonFinite, Objective, ObjectiveContext, ObjectiveResult};
use sums::{KIND, TokenRules, TokenSums};

const VERSION: i128 = 1;

/// How the tokens of a batch become inputs and targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Alignment {
    /// The inputs of a batch are sequences: each token is predicted from those before it.
    #[default]
    ShiftInputs,
    /// The targets of a batch are the tokens that follow the inputs.
    PreShifted,
}

/// The task of predicting the next token: NNx's `CausalLMTask`, with its objective and its evaluation.
///
/// A second input of a batch is its `loss_mask`: 1 for each token that counts as a target, else 0, in
/// the shape of the first input.
///
/// ```
/// use nnx_train::CausalLMTask;
///
/// let task = CausalLMTask::new(50_257).pad_id(0).smoothing(0.1);
/// let objective = task.objective()?;
/// # let _ = objective;
/// # Ok::<(), nnx_train::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CausalLMTask {
    alignment: Alignment,
    rules: TokenRules,
}

/// Trains the task. Its state is the component `lm.causal_task`.
#[derive(Clone, Debug)]
pub struct CausalLMObjective {
    task: CausalLMTask,
    tokens: i64,
}

/// Evaluates the task.
#[derive(Clone, Debug)]
pub struct CausalLMEval {
    task: CausalLMTask,
}

impl CausalLMTask {
    /// The task over a vocabulary of so many tokens.
    pub fn new(vocab_size: usize) -> Self {
        Self {
            alignment: Alignment::ShiftInputs,
            rules: TokenRules {
                vocab_size,
                ignore_id: nnx_net::IGNORE_INDEX,
                pad_id: None,
                smoothing: 0.0,
            },
        }
    }

    /// Sets how tokens become inputs and targets. Default: shifted inputs.
    #[must_use]
    pub fn alignment(mut self, alignment: Alignment) -> Self {
        self.alignment = alignment;
        self
    }

    /// Sets the id of targets that do not count. Default: -100.
    #[must_use]
    pub fn ignore_id(mut self, id: i64) -> Self {
        self.rules.ignore_id = id;
        self
    }

    /// Sets the id of padding, which does not count as a target. Default: none.
    #[must_use]
    pub fn pad_id(mut self, id: i64) -> Self {
        self.rules.pad_id = Some(id);
        self
    }

    /// Sets the share of each target that is spread over all tokens. Default: 0.
    #[must_use]
    pub fn smoothing(mut self, share: f64) -> Self {
        self.rules.smoothing = share;
        self
    }

    /// The objective that trains the task.
    ///
    /// # Errors
    /// When a setting is out of its domain.
    pub fn objective(self) -> Result<CausalLMObjective> {
        self.check()?;
        Ok(CausalLMObjective {
            task: self,
            tokens: 0,
        })
    }

    /// The validation of the task.
    ///
    /// # Errors
    /// When a setting is out of its domain.
    pub fn eval_step(self) -> Result<CausalLMEval> {
        self.check()?;
        Ok(CausalLMEval { task: self })
    }

    fn check(&self) -> Result<()> {
        let in_vocab = |id: i64| usize::try_from(id).is_ok_and(|id| id < self.rules.vocab_size);
        let why = if self.rules.vocab_size < 2 {
            "a vocabulary of at least 2 tokens"
        } else if in_vocab(self.rules.ignore_id) {
            "an ignore_id outside the vocabulary"
        } else if self.rules.pad_id.is_some_and(|id| !in_vocab(id)) {
            "a pad_id inside the vocabulary"
        } else if !(0.0..1.0).contains(&self.rules.smoothing) {
            "a smoothing from 0 to below 1"
        } else {
            return Ok(());
        };
        Err(Error::configuration(format!(
            "a task of language needs {why}, got {self:?}"
        )))
    }

    /// Inputs and targets of a batch, `[N, T]` each.
    fn split(&self, batch: &Batch) -> Result<(Tensor, Tensor)> {
        let (ids, mask) = match batch.inputs.as_slice() {
            [ids] => (ids, None),
            [ids, mask] => (ids, Some(mask)),
            _ => {
                return Err(Error::data(
                    "a batch of language has the ids of tokens as input, and perhaps a mask of those \
                     that count",
                ));
            }
        };
        let (inputs, mut targets) = match self.alignment {
            Alignment::PreShifted => (ids.clone(), batch.targets.clone()),
            Alignment::ShiftInputs => {
                let length = match ids.dims() {
                    [_, length] if *length >= 2 => *length,
                    dims => {
                        return Err(Error::data(format!(
                            "sequences of tokens need the shape [N, T] with T from 2, got `{dims:?}`"
                        )));
                    }
                };
                (ids.narrow(1, 0, length - 1)?, ids.narrow(1, 1, length - 1)?)
            }
        };
        if inputs.dims() != targets.dims() || inputs.rank() != 2 {
            return Err(Error::data(format!(
                "inputs and targets of language need one shape [N, T], got `{:?}` and `{:?}`",
                inputs.dims(),
                targets.dims()
            )));
        }
        if let Some(mask) = mask {
            targets = self.masked(&targets, mask, ids.dims())?;
        }
        Ok((inputs.contiguous()?, targets.contiguous()?))
    }

    /// The targets, with the id that does not count where the mask of the tokens is 0.
    fn masked(&self, targets: &Tensor, mask: &Tensor, shape: &[usize]) -> Result<Tensor> {
        let is_flag = |flag: &i64| *flag == 0 || *flag == 1;
        let flags: Vec<i64> = if mask.dtype().is_int() && mask.dims() == shape {
            mask.flatten_all()?.to_dtype(DType::I64)?.to_vec1()?
        } else {
            Vec::new()
        };
        if flags.len() != mask.elem_count() || !flags.iter().all(is_flag) {
            return Err(Error::data(format!(
                "the mask of tokens needs whole numbers 0 and 1 in the shape `{shape:?}` of the tokens, got \
                 the dtype `{}` and the shape `{:?}`",
                mask.dtype().as_str(),
                mask.dims()
            )));
        }
        let last = mask.dim(1)? - targets.dim(1)?;
        let mask = mask.narrow(1, last, targets.dim(1)?)?.contiguous()?;
        let targets = targets.to_dtype(DType::I64)?;
        let ignored = Tensor::full(self.rules.ignore_id, targets.shape(), targets.device())?;
        Ok(mask.to_dtype(DType::U8)?.where_cond(&targets, &ignored)?)
    }

    fn state(&self) -> Data {
        let alignment = match self.alignment {
            Alignment::ShiftInputs => "shift_inputs",
            Alignment::PreShifted => "pre_shifted",
        };
        Data::dict([
            ("kind", Data::Str(KIND.to_owned())),
            ("version", Data::Int(VERSION)),
            ("vocab_size", Data::Int(self.rules.vocab_size as i128)),
            ("alignment", Data::Str(alignment.to_owned())),
            ("ignore_id", Data::Int(self.rules.ignore_id.into())),
            (
                "pad_id",
                self.rules
                    .pad_id
                    .map_or(Data::None, |id| Data::Int(id.into())),
            ),
            ("smoothing", Data::Float(self.rules.smoothing)),
            ("vocab_axis", Data::Int(-1)),
            ("tokenizer", Data::None),
        ])
    }
}

impl Objective for CausalLMObjective {
    fn terms(&mut self, ctx: &mut ObjectiveContext<'_>) -> Result<ObjectiveResult> {
        if !ctx.options.extra.is_empty() {
            return Err(Error::configuration(
                "metrics of labels do not apply to a task of language",
            ));
        }
        if ctx.epoch_idx == 0 && ctx.batch_idx == 0 {
            self.tokens = 0;
        }
        let (inputs, targets) = self.task.split(ctx.batch)?;
        let logits = ctx
            .model
            .forward(&Batch::new([inputs], targets.clone()), true)?;
        let sums = TokenSums::new(self.task.rules, &logits, &targets)?;
        let term = LossTerm::mean(
            "token_ce",
            &sums.cross_entropy(self.task.rules, &logits)?,
            sums.count(),
        )?;
        self.tokens = self.tokens.saturating_add_unsigned(sums.tokens() as u64);
        let record = sums.record(term.value(), false)?;
        Ok(ObjectiveResult::new([term]).record(record))
    }

    fn non_finite(&self) -> NonFinite {
        NonFinite::Fail
    }

    fn component(&mut self) -> Option<&mut dyn Component> {
        Some(self)
    }
}

impl Component for CausalLMObjective {
    fn component_spec(&self) -> ComponentSpec {
        ComponentSpec::new("lm.causal_task")
    }

    fn component_state(&self) -> Data {
        Data::dict([
            ("task", self.task.state()),
            ("tokens", Data::Int(self.tokens.into())),
        ])
    }

    fn check_component_state(&self, state: &Data, _: ComponentVersion) -> Vec<String> {
        let saved = state.get("task").and_then(Data::to_value);
        let tokens = state.get("tokens").and_then(Data::as_int);
        if saved != self.task.state().to_value() {
            return vec!["the task of language changed since the checkpoint".to_owned()];
        }
        if tokens.is_none_or(|tokens| tokens < 0) {
            return vec!["the count of tokens is malformed".to_owned()];
        }
        Vec::new()
    }

    fn load_component_state(&mut self, state: &Data, _: ComponentVersion) -> Result<()> {
        let tokens = state.get("tokens").and_then(Data::as_int);
        self.tokens = tokens
            .and_then(|tokens| i64::try_from(tokens).ok())
            .unwrap_or_default();
        Ok(())
    }
}

impl EvalStep for CausalLMEval {
    fn evaluate(&mut self, ctx: &mut EvalContext<'_>) -> Result<NNEvaluationDataPoint> {
        let mut all: Option<TokenSums> = None;
        for batch in ctx.loader.pass(ctx.model.generator())? {
            let (inputs, targets) = self.task.split(&batch?)?;
            let logits = ctx
                .model
                .forward(&Batch::new([inputs], targets.clone()), false)?;
            let sums = TokenSums::new(self.task.rules, &logits, &targets)?;
            all = Some(match all {
                None => sums,
                Some(all) => all.plus(&sums),
            });
        }
        let all = all.ok_or_else(|| Error::configuration("the validation gave no batch"))?;
        all.record(all.nll(), true)
    }
}
