//! Parameters that are updated with the same settings.

use nnx_params::{Number, Value};
use nnx_run::{Data, GroupSettings};

use super::slots::Slots;
use crate::parameter::Parameter;

/// Parameters that are updated with the same settings: PyTorch's parameter group.
///
/// The settings are those that PyTorch has, by name and in order, with those that a schedule adds,
/// such as `initial_lr`.
#[derive(Clone, Debug)]
pub struct ParameterGroup {
    pub(super) settings: GroupSettings,
    pub(super) members: Vec<Member>,
}

/// A parameter, and the optimizer's state for it.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) parameter: Parameter,
    pub(super) slots: Slots,
}

impl ParameterGroup {
    pub(super) fn new(settings: GroupSettings, parameters: Vec<Parameter>) -> Self {
        let members = parameters.into_iter().map(|parameter| Member {
            parameter,
            slots: Slots::default(),
        });
        Self {
            settings,
            members: members.collect(),
        }
    }

    /// The parameters, in order.
    pub fn parameters(&self) -> impl ExactSizeIterator<Item = &Parameter> {
        self.members.iter().map(|member| &member.parameter)
    }

    /// The settings.
    pub fn settings(&self) -> &GroupSettings {
        &self.settings
    }

    /// Sets a setting. If the value is not valid, the next update fails.
    pub fn set(&mut self, name: &str, value: Data) {
        self.settings.set(name, value);
    }

    /// The learning rate; NaN if the setting is not a number.
    pub fn lr(&self) -> f64 {
        self.settings.lr().unwrap_or(f64::NAN)
    }

    /// Sets the learning rate.
    pub fn set_lr(&mut self, lr: impl Into<Number>) {
        self.set("lr", Data::from(&Value::from(lr.into())));
    }

    /// The weight decay.
    pub fn weight_decay(&self) -> Option<f64> {
        self.settings.weight_decay()
    }

    /// The momentum, of an optimizer that has one.
    pub fn momentum(&self) -> Option<f64> {
        self.settings.momentum()
    }

    /// The decay rates of the moments, in the Adam family.
    pub fn betas(&self) -> Option<(f64, f64)> {
        self.settings.betas()
    }
}
