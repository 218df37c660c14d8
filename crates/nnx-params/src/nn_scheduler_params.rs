//! The parameters of learning rate schedules.

use std::fmt;

use crate::enums::text_enum;
use crate::fields::{Fields, NOT_NEGATIVE, POSITIVE, keeps_unknown, setters, split_state};
use crate::python_text::scientific;
use crate::{Error, Number, Result, Schedulers, State, Value};

text_enum! {
    /// What one step of a schedule counts.
    SchedulerClock {
        /// Epochs, the default.
        Epoch => "epoch",
        /// Updates of the weights.
        OptimizerUpdate => "optimizer_update",
    }
}

/// The parameters of a learning rate schedule.
///
/// ```
/// use nnx_params::{NNSchedulerParams, Schedulers};
///
/// let params = NNSchedulerParams::builder().kind(Schedulers::Step).step_size(3).build()?;
/// assert_eq!(params.to_string(), "[step, factor=9e-01, min_lr=1e-07]");
/// # Ok::<(), nnx_params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NNSchedulerParams {
    min_lr: Number,
    factor: Number,
    patience: usize,
    cooldown: usize,
    threshold: Number,
    kind: Option<Schedulers>,
    step_size: Option<usize>,
    t_max: Option<usize>,
    max_lr: Option<Number>,
    total_steps: Option<usize>,
    warmup_steps: Option<usize>,
    clock: SchedulerClock,
    unknown: State,
}

impl NNSchedulerParams {
    /// The Python class.
    pub const CLASS: &'static str = "NNSchedulerParams";

    /// The fields in the order of declaration, in which a pickle lists them; NNx 0.2.3 lacks the
    /// last one.
    pub const FIELDS: &'static [&'static str] = &[
        "min_lr",
        "factor",
        "patience",
        "cooldown",
        "threshold",
        "kind",
        "step_size",
        "T_max",
        "max_lr",
        "total_steps",
        "warmup_steps",
        "clock",
    ];

    /// Starts from the plateau schedule that training defaults to.
    pub fn builder() -> NNSchedulerParamsBuilder {
        let mut fields = State::new();
        fields.insert("min_lr", 1e-7);
        fields.insert("factor", 0.95);
        fields.insert("patience", 8);
        fields.insert("cooldown", 2);
        fields.insert("threshold", 1e-3);
        NNSchedulerParamsBuilder { fields }
    }

    /// Builds from the constructor's arguments, an enum being its text.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain, or a plateau
    /// schedule is to count updates.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let clock = match fields.given("clock") {
            None => SchedulerClock::Epoch,
            Some(value) => SchedulerClock::from_value(Self::CLASS, "clock", value)?,
        };
        let kind = fields.optional("kind", |value| {
            Schedulers::from_value(Self::CLASS, "kind", value)
        })?;
        let plateau = matches!(kind, None | Some(Schedulers::ReduceLrOnPlateau));
        if plateau && clock == SchedulerClock::OptimizerUpdate {
            let domain = "`epoch` in a plateau schedule, which reads a metric after each epoch";
            return Err(Error::invalid(
                Self::CLASS,
                "clock",
                domain,
                fields.get("clock"),
            ));
        }
        Ok(Self {
            factor: fields.finite("factor", &POSITIVE)?,
            min_lr: fields.finite("min_lr", &NOT_NEGATIVE)?,
            threshold: fields.finite("threshold", &NOT_NEGATIVE)?,
            max_lr: fields.optional_finite("max_lr", &POSITIVE)?,
            patience: fields.count("patience", 0)?,
            cooldown: fields.count("cooldown", 0)?,
            step_size: fields.optional_count("step_size", 1)?,
            t_max: fields.optional_count("T_max", 1)?,
            total_steps: fields.optional_count("total_steps", 1)?,
            warmup_steps: fields.optional_count("warmup_steps", 1)?,
            kind,
            clock,
            unknown: State::new(),
        })
    }

    /// Builds from what [`state`](Self::state) returns; an empty kind is none.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let required = ["min_lr", "factor", "patience", "cooldown", "threshold"];
        let (mut known, unknown) = split_state(Self::CLASS, state, &required, Self::FIELDS)?;
        if !known.get("kind").is_some_and(Value::truth) {
            known.remove("kind");
        }
        let mut params = Self::from_fields(&known)?;
        params.unknown = unknown;
        Ok(params)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        let mut state = State::from_iter([("min_lr", self.min_lr), ("factor", self.factor)]);
        state.insert("cooldown", self.cooldown);
        state.insert("patience", self.patience);
        state.insert("threshold", self.threshold);
        let clock = (self.clock != SchedulerClock::Epoch).then_some(self.clock);
        let optional: [(&str, Value); 7] = [
            ("kind", self.kind.into()),
            ("step_size", self.step_size.into()),
            ("T_max", self.t_max.into()),
            ("max_lr", self.max_lr.into()),
            ("total_steps", self.total_steps.into()),
            ("warmup_steps", self.warmup_steps.into()),
            ("clock", clock.into()),
        ];
        state.extend(optional.into_iter().filter(|(_, value)| !value.is_none()));
        state
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown).
    pub fn full_state(&self) -> State {
        self.state().followed_by(&self.unknown)
    }

    keeps_unknown!();

    /// The lowest learning rate.
    pub fn min_lr(&self) -> Number {
        self.min_lr
    }

    /// What the learning rate is multiplied by.
    pub fn factor(&self) -> Number {
        self.factor
    }

    /// The epochs without improvement before a plateau schedule lowers the rate.
    pub fn patience(&self) -> usize {
        self.patience
    }

    /// The epochs that a plateau schedule then waits.
    pub fn cooldown(&self) -> usize {
        self.cooldown
    }

    /// What counts as an improvement in a plateau schedule.
    pub fn threshold(&self) -> Number {
        self.threshold
    }

    /// The schedule; none is a plateau schedule.
    pub fn kind(&self) -> Option<Schedulers> {
        self.kind
    }

    /// The steps between two changes of a step schedule.
    pub fn step_size(&self) -> Option<usize> {
        self.step_size
    }

    /// The steps of half a wave of a cosine schedule; Python calls it `T_max`.
    pub fn t_max(&self) -> Option<usize> {
        self.t_max
    }

    /// The highest learning rate of a one-cycle schedule.
    pub fn max_lr(&self) -> Option<Number> {
        self.max_lr
    }

    /// The steps of a one-cycle schedule or a linear one.
    pub fn total_steps(&self) -> Option<usize> {
        self.total_steps
    }

    /// The rising steps of a linear schedule.
    pub fn warmup_steps(&self) -> Option<usize> {
        self.warmup_steps
    }

    /// What one step counts.
    pub fn clock(&self) -> SchedulerClock {
        self.clock
    }
}

/// Writes Python's `str`.
impl fmt::Display for NNSchedulerParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |number: Number| scientific(number.as_f64(), 0);
        let (factor, min_lr) = (short(self.factor), short(self.min_lr));
        let Some(kind) = self.kind else {
            let Self {
                patience, cooldown, ..
            } = self;
            let threshold = short(self.threshold);
            return write!(
                f,
                "[plateau, patience={patience}, cooldown={cooldown}, factor={factor}, \
                 threshold={threshold}, min_lr={min_lr}]"
            );
        };
        write!(f, "[{kind}, factor={factor}, min_lr={min_lr}")?;
        if self.clock != SchedulerClock::Epoch {
            write!(f, ", clock={}", self.clock)?;
        }
        f.write_str("]")
    }
}

/// Collects the fields of [`NNSchedulerParams`]; see [`NNSchedulerParams::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct NNSchedulerParamsBuilder {
    fields: State,
}

impl NNSchedulerParamsBuilder {
    setters! {
        /// The lowest learning rate. Default: 1e-7.
        min_lr: impl Into<Number> as Number,
        /// What the learning rate is multiplied by. Default: 0.95.
        factor: impl Into<Number> as Number,
        /// The epochs without improvement before the rate is lowered. Default: 8.
        patience: usize as usize,
        /// The epochs to wait after that. Default: 2.
        cooldown: usize as usize,
        /// What counts as an improvement. Default: 1e-3.
        threshold: impl Into<Number> as Number,
        /// The schedule. Default: none, which is a plateau schedule.
        kind: impl Into<Option<Schedulers>> as Option<Schedulers>,
        /// The steps between two changes of a step schedule. Default: none.
        step_size: usize as usize,
        /// The highest learning rate of a one-cycle schedule. Default: none.
        max_lr: impl Into<Number> as Number,
        /// The steps of a one-cycle schedule or a linear one. Default: none.
        total_steps: usize as usize,
        /// The rising steps of a linear schedule. Default: none.
        warmup_steps: usize as usize,
        /// What one step counts. Default: epochs.
        clock: SchedulerClock as SchedulerClock,
    }

    /// The steps of half a wave of a cosine schedule; Python calls it `T_max`. Default: none.
    pub fn t_max(mut self, t_max: usize) -> Self {
        self.fields.insert("T_max", t_max);
        self
    }

    /// Builds the parameters.
    ///
    /// # Errors
    ///
    /// As [`NNSchedulerParams::from_fields`].
    pub fn build(self) -> Result<NNSchedulerParams> {
        NNSchedulerParams::from_fields(&self.fields)
    }
}
