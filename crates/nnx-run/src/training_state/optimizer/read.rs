//! From PyTorch's form, where parameters are numbered and each group lists its numbers.

use std::collections::HashMap;

use super::settings::GroupSettings;
use super::{OptimizerGroup, OptimizerParameter, OptimizerState};
use crate::error::{Error, Result};
use crate::training_state::data::Data;

impl OptimizerState {
    /// Joins a state dict, a class and a topology, which may be `None`.
    pub(in crate::training_state) fn read(
        state: &Data,
        class: &Data,
        topology: &Data,
    ) -> Result<Self> {
        let part = |key: &str| {
            state.get(key).ok_or_else(|| {
                Error::training_state(format!(
                    "expected `{key}` in the state of an optimizer, found none"
                ))
            })
        };
        let slots = part("state")?;
        let slots = slots.pairs().ok_or_else(|| other("a mapping", "state"))?;
        let mut slots: HashMap<i128, &[(Data, Data)]> = slots
            .iter()
            .map(|(number, slots)| Some((number.as_int()?, slots.pairs()?)))
            .collect::<Option<_>>()
            .ok_or_else(|| other("mappings by number", "state"))?;
        let groups = part("param_groups")?;
        let groups = groups
            .items()
            .ok_or_else(|| other("a list", "param_groups"))?;
        let topology = topology.items();
        if topology.is_some_and(|topology| topology.len() != groups.len()) {
            return Err(Error::training_state(
                "expected as many groups of parameters in the topology as in the optimizer's state",
            ));
        }
        let groups = groups.iter().enumerate().map(|(index, group)| {
            let names = topology.and_then(|topology| topology.get(index));
            read_group(group, names, &mut slots)
        });
        let groups = groups.collect::<Result<_>>()?;
        if !slots.is_empty() {
            return Err(Error::training_state(
                "expected each parameter of the optimizer's state in a group, found one that is in no group",
            ));
        }
        let pairs = state.pairs().unwrap_or_default().iter();
        let extra =
            pairs.filter(|(key, _)| !matches!(key.as_str(), Some("state" | "param_groups")));
        Ok(Self {
            class: class.as_str().map(str::to_owned),
            groups,
            has_topology: topology.is_some(),
            extra: extra.cloned().collect(),
        })
    }
}

fn read_group(
    group: &Data,
    names: Option<&Data>,
    slots: &mut HashMap<i128, &[(Data, Data)]>,
) -> Result<OptimizerGroup> {
    let pairs = group
        .pairs()
        .ok_or_else(|| other("mappings", "param_groups"))?;
    let numbers = group.get("params").and_then(Data::items);
    let numbers = numbers.ok_or_else(|| other("a list", "params"))?;
    let names = names.map(|names| names.items().unwrap_or_default());
    if names.is_some_and(|names| names.len() != numbers.len()) {
        return Err(Error::training_state(
            "expected as many parameters in a group of the topology as in the optimizer's state",
        ));
    }
    let parameters = numbers.iter().enumerate().map(|(index, number)| {
        let number = number.as_int().ok_or_else(|| other("numbers", "params"))?;
        let named = names.and_then(|names| names.get(index));
        let shape = named
            .and_then(|named| named.get("shape"))
            .and_then(Data::items);
        let size = |size: &Data| size.as_int().and_then(|size| usize::try_from(size).ok());
        Ok(OptimizerParameter {
            name: named
                .and_then(|named| named.get("name"))
                .and_then(Data::as_str)
                .map(str::to_owned),
            shape: shape.and_then(|shape| shape.iter().map(size).collect()),
            slots: slots.remove(&number).unwrap_or_default().to_vec(),
        })
    });
    let settings = pairs
        .iter()
        .filter(|(key, _)| key.as_str() != Some("params"));
    Ok(OptimizerGroup {
        parameters: parameters.collect::<Result<_>>()?,
        settings: GroupSettings::from_pairs(settings.cloned().collect()),
    })
}

#[cold]
fn other(expected: &str, key: &str) -> Error {
    Error::training_state(format!(
        "expected {expected} as `{key}` in the state of an optimizer, found another value"
    ))
}
