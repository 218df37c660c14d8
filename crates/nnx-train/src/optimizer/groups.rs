//! The groups of parameters.

use std::collections::HashSet;

use nnx_params::python_text::fnmatchcase;
use nnx_params::{NNOptimParams, NNParamGroupSpec, Number, Value};
use nnx_run::{Data, GroupSettings};

use super::group::ParameterGroup;
use crate::error::{Error, Result};
use crate::parameter::Parameter;

/// The groups of an optimizer: one of all parameters if none are declared, else one of each spec that
/// matches a parameter that is trained, and, unless they are `strict`, one of those that no spec
/// matches. A tied parameter is in one group only.
pub(super) fn groups(
    params: &NNOptimParams,
    parameters: Vec<Parameter>,
    defaults: &GroupSettings,
    strict: bool,
) -> Result<Vec<ParameterGroup>> {
    let mut known = HashSet::new();
    let parameters = parameters.into_iter();
    let distinct = parameters.filter(|parameter| known.insert(parameter.id()));
    let Some(specs) = params.param_groups() else {
        return Ok(vec![ParameterGroup::new(
            defaults.clone(),
            distinct.collect(),
        )]);
    };
    let mut matched: Vec<Vec<Parameter>> = specs.iter().map(|_| Vec::new()).collect();
    let mut others = Vec::new();
    for parameter in distinct.filter(|parameter| parameter.requires_grad) {
        let first = specs
            .iter()
            .position(|spec| fnmatchcase(&parameter.name, spec.name_pattern()));
        match first.and_then(|first| matched.get_mut(first)) {
            Some(group) => group.push(parameter),
            None => others.push(parameter),
        }
    }
    let mut groups = Vec::new();
    for (spec, parameters) in specs.iter().zip(matched) {
        if !parameters.is_empty() {
            let decay = spec.weight_decay().unwrap_or(params.weight_decay());
            groups.push(group(rate(params, spec)?, decay, defaults, parameters));
        }
    }
    if !others.is_empty() && !strict {
        let (lr, decay) = (params.max_lr(), params.weight_decay());
        groups.push(group(lr, decay, defaults, others));
    }
    if groups.is_empty() {
        return Err(Error::configuration(
            "expected parameters to train in a group, found none: every parameter is frozen, or \
             matches none of the patterns of `param_groups`",
        ));
    }
    Ok(groups)
}

/// A group: the given settings come first among its settings.
fn group(
    lr: Number,
    weight_decay: Number,
    defaults: &GroupSettings,
    parameters: Vec<Parameter>,
) -> ParameterGroup {
    let given = [("lr", lr), ("weight_decay", weight_decay)];
    let given = given.map(|(name, number)| (name, Data::from(&Value::from(number))));
    let mut settings = GroupSettings::from_iter(given);
    settings.set_defaults(defaults);
    ParameterGroup::new(settings, parameters)
}

fn rate(params: &NNOptimParams, spec: &NNParamGroupSpec) -> Result<Number> {
    let (Some(multiplier), None) = (spec.lr_multiplier(), spec.lr()) else {
        return Ok(spec.lr().unwrap_or(params.max_lr()));
    };
    let lr = params.max_lr().as_f64() * multiplier.as_f64();
    if lr > 0.0 && lr.is_finite() {
        return Ok(lr.into());
    }
    Err(Error::configuration(format!(
        "expected a finite learning rate > 0 from the `lr_multiplier` of `{}`, found {lr}",
        spec.name_pattern()
    )))
}
