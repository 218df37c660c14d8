//! The optimizers of NNx and their settings in PyTorch.

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
