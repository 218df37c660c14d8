//! The parameters of built-in optimizers.

use std::fmt;

use crate::fields::{Fields, POSITIVE, keeps_unknown, literal, setters, split_state};
use crate::optim_settings::{OptimSettings, check_group_states, optim_getters, optim_setters};
use crate::python_text::{general, repr, scientific};
use crate::{Error, Momentum, NNParamGroupSpec, Number, Optims, Result, State};

/// The parameters of a built-in optimizer.
///
/// ```
/// use nnx_params::{NNOptimParams, Optims};
///
/// let params = NNOptimParams::builder(Optims::Adam, 1e-2, (0.9, 0.999), 5e-5).build()?;
/// assert_eq!(
///     params.to_string(),
///     "[name=adam, max_lr=1e-02, weight_decay=5e-05, momentum=(0.9, 0.999), grad_clip=None, accum=1]"
/// );
/// # Ok::<(), nnx_params::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NNOptimParams {
    name: Optims,
    momentum: Momentum,
    settings: OptimSettings,
    eps: f64,
    unknown: State,
}

const DEFAULT_EPS: f64 = 1e-8;

impl NNOptimParams {
    /// The Python class.
    pub const CLASS: &'static str = "NNOptimParams";

    /// The fields in the order of declaration, in which a pickle lists them; NNx 0.2.3 lacks the
    /// last one.
    pub const FIELDS: &'static [&'static str] = &[
        "name",
        "max_lr",
        "weight_decay",
        "momentum",
        "grad_clip_norm",
        "accumulate_grad_batches",
        "param_groups",
        "eps",
    ];

    /// Starts from the optimizer, its learning rate, momentum and weight decay.
    pub fn builder(
        name: Optims,
        max_lr: impl Into<Number>,
        momentum: impl Into<Momentum>,
        weight_decay: impl Into<Number>,
    ) -> NNOptimParamsBuilder {
        let mut fields = State::from_iter([("name", name)]);
        fields.insert("max_lr", max_lr.into());
        fields.insert("weight_decay", weight_decay.into());
        fields.insert("momentum", momentum.into());
        NNOptimParamsBuilder { fields }
    }

    /// Builds from the constructor's arguments: an enum is its text, a group its state.
    ///
    /// # Errors
    ///
    /// A field is missing, unexpected, of a wrong type or outside its domain, or `eps` is set on
    /// an optimizer that has none.
    pub fn from_fields(fields: &State) -> Result<Self> {
        let fields = Fields::new(Self::CLASS, fields, Self::FIELDS)?;
        let name = Optims::from_value(Self::CLASS, "name", fields.required("name")?)?;
        let settings = OptimSettings::from_fields(&fields, None)?;
        let momentum = Momentum::from_value(Self::CLASS, fields.required("momentum")?)?;
        let eps = fields.finite_or("eps", &POSITIVE, DEFAULT_EPS)?.as_f64();
        if name.is_sgd() && eps != DEFAULT_EPS {
            let domain = format!("1e-08 beside `{name}`, which has no such term");
            return Err(Error::invalid(
                Self::CLASS,
                "eps",
                domain,
                fields.get("eps"),
            ));
        }
        Ok(Self {
            name,
            momentum,
            settings,
            eps,
            unknown: State::new(),
        })
    }

    /// Builds from what [`state`](Self::state) returns.
    ///
    /// # Errors
    ///
    /// A key is missing, or a value is of a wrong type or outside its domain.
    pub fn from_state(state: &State) -> Result<Self> {
        let required = ["max_lr", "name", "weight_decay", "momentum"];
        let (mut known, unknown) = split_state(Self::CLASS, state, &required, Self::FIELDS)?;
        if let Some(text) = known.get("momentum") {
            let momentum = literal(Self::CLASS, "momentum", text)?;
            known.insert("momentum", momentum);
        }
        check_group_states(&known)?;
        let mut params = Self::from_fields(&known)?;
        params.unknown = unknown;
        Ok(params)
    }

    /// The serialised form, key for key as Python writes it.
    pub fn state(&self) -> State {
        self.state_with(NNParamGroupSpec::state)
    }

    /// [`state`](Self::state) followed by the keys of [`unknown`](Self::unknown), those of the
    /// groups included.
    pub fn full_state(&self) -> State {
        self.state_with(NNParamGroupSpec::full_state)
            .followed_by(&self.unknown)
    }

    fn state_with(&self, group_state: fn(&NNParamGroupSpec) -> State) -> State {
        let mut state = State::from_iter([("max_lr", self.settings.max_lr)]);
        state.insert("momentum", self.momentum.to_string());
        state.insert("name", self.name);
        state.insert("weight_decay", self.settings.weight_decay);
        self.settings.add_optional(&mut state, group_state);
        if self.eps != DEFAULT_EPS {
            state.insert("eps", self.eps);
        }
        state
    }

    keeps_unknown!();

    /// The optimizer.
    pub fn name(&self) -> Optims {
        self.name
    }

    /// The momentum of gradient descent, or the betas of Adam.
    pub fn momentum(&self) -> Momentum {
        self.momentum
    }

    optim_getters!();

    /// What Adam adds to its denominator.
    pub fn eps(&self) -> f64 {
        self.eps
    }

    /// Whether the momentum has the shape that the optimizer takes; Python refuses to train
    /// otherwise, also where the momentum is an integer.
    pub fn is_valid(&self) -> bool {
        matches!(
            (self.name.is_sgd(), self.momentum),
            (true, Momentum::Single(Number::Float(_)))
                | (false, Momentum::Betas(Number::Float(_), Number::Float(_)))
        )
    }
}

/// Writes Python's `str`.
impl fmt::Display for NNOptimParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, momentum, .. } = self;
        let max_lr = scientific(self.settings.max_lr.as_f64(), 0);
        let weight_decay = scientific(self.settings.weight_decay.as_f64(), 0);
        write!(
            f,
            "[name={name}, max_lr={max_lr}, weight_decay={weight_decay}, momentum={momentum}"
        )?;
        if self.eps != DEFAULT_EPS {
            write!(f, ", eps={}", general(self.eps))?;
        }
        let grad_clip = repr(&self.settings.grad_clip_norm.into());
        let accum = self.settings.accumulate_grad_batches;
        write!(f, ", grad_clip={grad_clip}, accum={accum}]")
    }
}

/// Collects the fields of [`NNOptimParams`]; see [`NNOptimParams::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct NNOptimParamsBuilder {
    fields: State,
}

impl NNOptimParamsBuilder {
    optim_setters!();

    setters! {
        /// What Adam adds to its denominator. Default: 1e-8.
        eps: impl Into<Number> as Number,
    }

    /// Builds the parameters.
    ///
    /// # Errors
    ///
    /// As [`NNOptimParams::from_fields`].
    pub fn build(self) -> Result<NNOptimParams> {
        NNOptimParams::from_fields(&self.fields)
    }
}
