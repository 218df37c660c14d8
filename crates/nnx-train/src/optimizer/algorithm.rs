//! The algorithms of PyTorch that are built in.

use nnx_run::GroupSettings;

use super::adagrad::{self, Adagrad};
use super::adam::{self, Adam};
use super::rms_prop::{self, RmsProp};
use super::sgd::{self, Sgd};
use super::slots::{SlotNames, Slots};
use crate::error::{ErrorKind, Result};

/// The algorithm that updates the parameters of a group, with the settings of the group.
#[derive(Clone, Copy, Debug)]
pub(super) enum Algorithm {
    Sgd(Sgd),
    Adam(Adam),
    RmsProp(RmsProp),
    Adagrad(Adagrad),
}

impl Algorithm {
    /// The algorithm of a Python class, with the settings of a group.
    pub(super) fn read(class: &str, settings: &GroupSettings) -> Result<Self> {
        Ok(match class {
            sgd::CLASS => Self::Sgd(Sgd::read(settings)?),
            adam::ADAM | adam::ADAM_W => Self::Adam(Adam::read(settings, class)?),
            rms_prop::CLASS => Self::RmsProp(RmsProp::read(settings)?),
            adagrad::CLASS => Self::Adagrad(Adagrad::read(settings)?),
            _ => {
                let what =
                    format!("expected the class of an optimizer that is built in, found {class}");
                return Err(ErrorKind::Unsupported { what }.into());
            }
        })
    }

    /// The names of the state that it keeps for each parameter.
    pub(super) fn slots(&self) -> SlotNames {
        match self {
            Self::Sgd(_) => sgd::SLOTS,
            Self::Adam(_) => adam::SLOTS,
            Self::RmsProp(_) => rms_prop::SLOTS,
            Self::Adagrad(_) => adagrad::SLOTS,
        }
    }

    /// Updates a parameter.
    pub(super) fn update(&self, weights: &mut [f32], gradient: &[f32], slots: &mut Slots) {
        match self {
            Self::Sgd(sgd) => sgd.update(weights, gradient, slots),
            Self::Adam(adam) => adam.update(weights, gradient, slots),
            Self::RmsProp(rms_prop) => rms_prop.update(weights, gradient, slots),
            Self::Adagrad(adagrad) => adagrad.update(weights, gradient, slots),
        }
    }
}
