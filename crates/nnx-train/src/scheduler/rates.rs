//! The learning rates of an optimizer's groups.

use nnx_params::Number;

use super::saved::number;
use crate::error::{Error, Result};
use crate::optimizer::Optimizer;
use crate::optimizer::group::ParameterGroup;

/// A setting of a group that is a number, with its type.
pub(super) fn setting(group: &ParameterGroup, name: &str) -> Result<Number> {
    let value = group.settings().get(name).and_then(number);
    value.ok_or_else(|| {
        Error::configuration(format!(
            "expected a number as `{name}` of a group of parameters, found another value or none"
        ))
    })
}

/// A setting of each group.
pub(super) fn settings(optimizer: &Optimizer, name: &str) -> Result<Vec<Number>> {
    let groups = optimizer.groups().iter();
    groups.map(|group| setting(group, name)).collect()
}

/// The learning rate of each group.
pub(super) fn current(optimizer: &Optimizer) -> Result<Vec<Number>> {
    settings(optimizer, "lr")
}
