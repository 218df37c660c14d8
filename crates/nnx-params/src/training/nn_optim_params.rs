//! The parameters of built-in optimizers.

use std::fmt;

use crate::class::{
    Arguments, defaulted, literal, not_negative, positive, required, state_methods,
};
use crate::enums::Optims;
use crate::error::Result;
use crate::number::Number;
use crate::repr::float::{general, scientific};
use crate::repr::repr;
use crate::training::momentum::Momentum;
use crate::training::optimizer_class::{check_group_states, optimizer_class};
use crate::value::{State, Value};

const DEFAULT_EPS: f64 = 1e-8;

optimizer_class! {
    class {
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
        NNOptimParams { unknown: State } in "nnx.nn.params.nn_optim_params";
        errors: "`eps` is set on an optimizer that has none";
        pickle order: "name", "max_lr", "weight_decay", "momentum", "grad_clip_norm";
        state order: "max_lr", "momentum", "name", "weight_decay", "grad_clip_norm";
        required: &["max_lr", "name", "weight_decay", "momentum"];
        check: NNOptimParams::check_eps;
        read state: read_state;
    }
    fields {
        /// The optimizer.
        name: Optims => Optims = required(Optims::from_value);
    }
    weight_decay { required(not_negative) }
    more fields {
        /// The momentum of gradient descent, or the betas of Adam.
        momentum: Momentum => Momentum = required(Momentum::from_value).written_as_text();
        /// The number that Adam adds to its denominator.
        eps: f64 => f64 = defaulted(eps, DEFAULT_EPS),
            set impl Into<Number> as Number, "Default: 1e-8.";
    }
    builder {
        /// Starts from the optimizer, its learning rate, momentum and weight decay.
        NNOptimParamsBuilder for NNOptimParams(
            name: Optims,
            max_lr: impl Into<Number> as Number,
            momentum: impl Into<Momentum> as Momentum,
            weight_decay: impl Into<Number> as Number
        );
    }
}

fn eps(class: &'static str, field: &str, value: &Value) -> Result<f64> {
    positive(class, field, value).map(Number::as_f64)
}

fn read_state(known: &mut State) -> Result<()> {
    if let Some(text) = known.get("momentum") {
        let momentum = literal(NNOptimParams::CLASS, "momentum", text)?;
        known.insert("momentum", momentum);
    }
    check_group_states(known)
}

impl NNOptimParams {
    state_methods!();

    fn check_eps(self, arguments: &Arguments<'_>) -> Result<Self> {
        let name = self.name;
        if name.is_sgd() && self.eps != DEFAULT_EPS {
            let domain = format!("1e-08 beside `{name}`, which has no such term");
            return Err(arguments.invalid("eps", domain));
        }
        Ok(self)
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
        let max_lr = scientific(self.max_lr.as_f64(), 0);
        let weight_decay = scientific(self.weight_decay.as_f64(), 0);
        write!(
            f,
            "[name={name}, max_lr={max_lr}, weight_decay={weight_decay}, momentum={momentum}"
        )?;
        if self.eps != DEFAULT_EPS {
            write!(f, ", eps={}", general(self.eps))?;
        }
        let grad_clip = repr(&self.grad_clip_norm.into());
        let accum = self.accumulate_grad_batches;
        write!(f, ", grad_clip={grad_clip}, accum={accum}]")
    }
}
