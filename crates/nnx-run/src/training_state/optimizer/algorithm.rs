//! The optimizers of NNx and their settings in PyTorch.

use super::OptimizerGroup;
use crate::training_state::Data;

/// The algorithm of an optimizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// Adam.
    Adam,
    /// Adam with the largest second moment so far.
    AmsGrad,
    /// Adam with a weight decay of its own.
    AdamW,
    /// Gradient descent, with momentum or without.
    Sgd,
    /// Gradient descent with Nesterov's momentum.
    SgdNesterov,
}

/// An optimizer of PyTorch, with what does not differ between its groups.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Optimizer {
    /// `torch.optim.Adam`, or with a decoupled weight decay `torch.optim.AdamW`.
    Adam {
        /// The decay rates of the moments.
        betas: (f64, f64),
        /// What keeps a denominator from being zero.
        eps: f64,
        /// Whether the largest second moment counts.
        amsgrad: bool,
        /// Whether the weight decay is apart from the gradient.
        decoupled_weight_decay: bool,
    },
    /// `torch.optim.SGD`.
    Sgd {
        /// The momentum; 0 for none.
        momentum: f64,
        /// Whether the momentum is Nesterov's.
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

/// The algorithm of a class and its settings.
pub(super) fn of(class: &str, group: &OptimizerGroup) -> Option<Algorithm> {
    let is_set = |name| group.setting(name).and_then(Data::as_bool) == Some(true);
    Some(match class {
        ADAM if is_set("amsgrad") => Algorithm::AmsGrad,
        ADAM => Algorithm::Adam,
        ADAM_W => Algorithm::AdamW,
        SGD if is_set("nesterov") => Algorithm::SgdNesterov,
        SGD => Algorithm::Sgd,
        _ => return None,
    })
}
