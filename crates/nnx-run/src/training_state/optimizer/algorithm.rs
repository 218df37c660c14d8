//! The optimizers of NNx and their settings in PyTorch.

use crate::training_state::data::Data;

/// The algorithm of an optimizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// Adam.
    Adam,
    /// Adam with the maximum of the second moments so far.
    AmsGrad,
    /// Adam with decoupled weight decay.
    AdamW,
    /// Stochastic gradient descent, with or without momentum.
    Sgd,
    /// Stochastic gradient descent with Nesterov momentum.
    SgdNesterov,
}

/// An optimizer of PyTorch, with the settings that its groups have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Optimizer {
    /// `torch.optim.Adam`, or `torch.optim.AdamW` if the weight decay is decoupled.
    Adam {
        /// The decay rates of the moments.
        betas: (f64, f64),
        /// The term added to the denominator for numerical stability.
        eps: f64,
        /// Whether the maximum of the second moments is used.
        amsgrad: bool,
        /// Whether the weight decay is applied separately from the gradient.
        decoupled_weight_decay: bool,
    },
    /// `torch.optim.SGD`.
    Sgd {
        /// The momentum; 0 for none.
        momentum: f64,
        /// Whether Nesterov momentum is used.
        nesterov: bool,
    },
}

const ADAM: &str = "torch.optim.adam.Adam";
const ADAM_W: &str = "torch.optim.adamw.AdamW";
const SGD: &str = "torch.optim.sgd.SGD";

impl Optimizer {
    /// The Python class.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Adam {
                decoupled_weight_decay: false,
                ..
            } => ADAM,
            Self::Adam { .. } => ADAM_W,
            Self::Sgd { .. } => SGD,
        }
    }

    /// The settings of a group, in the order of PyTorch 2.15.
    pub(super) fn settings(&self, lr: f64, weight_decay: f64) -> Vec<(Data, Data)> {
        let mut settings = vec![("lr", Data::Float(lr))];
        match *self {
            Self::Adam {
                betas: (first, second),
                eps,
                amsgrad,
                decoupled_weight_decay,
            } => settings.extend([
                (
                    "betas",
                    Data::Tuple(vec![Data::Float(first), Data::Float(second)]),
                ),
                ("eps", Data::Float(eps)),
                ("weight_decay", Data::Float(weight_decay)),
                ("amsgrad", Data::Bool(amsgrad)),
                ("maximize", Data::Bool(false)),
                ("foreach", Data::None),
                ("capturable", Data::Bool(false)),
                ("differentiable", Data::Bool(false)),
                ("fused", Data::None),
                ("decoupled_weight_decay", Data::Bool(decoupled_weight_decay)),
            ]),
            Self::Sgd { momentum, nesterov } => settings.extend([
                ("momentum", Data::Float(momentum)),
                ("dampening", Data::Int(0)),
                ("weight_decay", Data::Float(weight_decay)),
                ("nesterov", Data::Bool(nesterov)),
                ("maximize", Data::Bool(false)),
                ("foreach", Data::None),
                ("differentiable", Data::Bool(false)),
                ("fused", Data::None),
            ]),
        }
        let settings = settings.into_iter();
        settings
            .map(|(name, value)| (Data::Str(name.to_owned()), value))
            .collect()
    }
}

impl Algorithm {
    /// The algorithm of a Python class, where `is_set` says which boolean settings are on.
    pub(super) fn from_class(class: &str, is_set: impl Fn(&str) -> bool) -> Option<Self> {
        Some(match class {
            ADAM if is_set("amsgrad") => Self::AmsGrad,
            ADAM => Self::Adam,
            ADAM_W => Self::AdamW,
            SGD if is_set("nesterov") => Self::SgdNesterov,
            SGD => Self::Sgd,
            _ => return None,
        })
    }
}
