//! The state of an optimizer, in PyTorch's form.

use nnx_run::{OptimizerGroup, OptimizerParameter, OptimizerState};

use super::algorithm::Algorithm;
use super::group::{Member, ParameterGroup};
use super::slots::Slots;
use super::{Optimizer, check_dtypes};
use crate::error::{Error, ErrorKind, Result};
use crate::parameter::Parameter;

impl Optimizer {
    /// An optimizer that goes on from a state, with the class, the groups and the settings of the state:
    /// also of the classes RMSprop and Adagrad, which NNx does not build.
    ///
    /// Parameters are told by the names in the state, and in a state without names by their place.
    ///
    /// # Errors
    /// When the state is of no built-in class, lacks what the class needs, or has a parameter that is
    /// not given; when a parameter is not of float32.
    pub fn from_state(state: &OptimizerState, parameters: Vec<Parameter>) -> Result<Self> {
        let class = state.class().ok_or_else(|| {
            cannot("expected a class beside the optimizer's state, found none".to_owned())
        })?;
        check_dtypes(&parameters)?;
        let mut in_order = parameters.iter();
        let mut groups = Vec::new();
        for saved in state.groups() {
            let mut members = Vec::new();
            for one in saved.parameters() {
                let found = match one.name() {
                    Some(name) => parameters.iter().find(|known| known.name == name),
                    None => in_order.next(),
                };
                members.push(found.cloned().ok_or_else(|| {
                    let name = one.name().unwrap_or("one more");
                    cannot(format!(
                        "expected the parameters of the optimizer's state, found all but {name}"
                    ))
                })?);
            }
            let group = ParameterGroup::new(saved.settings().clone(), members);
            groups.push(loaded(class, &group, saved)?);
        }
        Ok(Self {
            class: class.to_owned(),
            groups,
        })
    }

    /// The state, with the names and shapes of the parameters, as a checkpoint keeps it.
    ///
    /// # Errors
    /// When a setting of a group is not valid.
    pub fn state(&self) -> Result<OptimizerState> {
        let groups = self.groups.iter().map(|group| {
            let slots = Algorithm::read(&self.class, &group.settings)?.slots();
            let parameters = group.members.iter().map(|member| {
                let mut saved = described(member);
                let shape = member.parameter.var.dims();
                member.slots.write(slots, &mut saved, shape)?;
                Ok(saved)
            });
            let parameters = parameters.collect::<Result<_>>()?;
            Ok(OptimizerGroup::with_settings(
                group.settings.clone(),
                parameters,
            ))
        });
        let groups = groups.collect::<Result<_>>()?;
        Ok(OptimizerState::with_class(&self.class, groups))
    }

    /// Goes on from a state. As in PyTorch, all settings of its groups replace those of this optimizer,
    /// and parameters are told by their place.
    ///
    /// Nothing is changed unless all of the state can be loaded.
    ///
    /// # Errors
    /// When the state is of another class, has other groups or other numbers of parameters, or lacks
    /// what the class needs.
    pub fn load_state(&mut self, state: &OptimizerState) -> Result<()> {
        if let Some(class) = state.class().filter(|class| *class != self.class) {
            return Err(cannot(format!(
                "resume optimizer type mismatch: checkpoint has {class}, configuration builds {}",
                self.class
            )));
        }
        let (ours, theirs) = (self.groups.len(), state.groups().len());
        if ours != theirs {
            return Err(cannot(format!(
                "expected {ours} groups of parameters in the optimizer's state, found {theirs}"
            )));
        }
        let groups = self.groups.iter().zip(state.groups());
        let groups = groups.map(|(group, saved)| loaded(&self.class, group, saved));
        self.groups = groups.collect::<Result<_>>()?;
        Ok(())
    }

    /// Checks that a state is of the same parameters, by name and shape, in the same groups. A state
    /// without names passes.
    ///
    /// # Errors
    /// When it is not.
    pub fn check_topology(&self, state: &OptimizerState) -> Result<()> {
        let is_same = self.groups.len() == state.groups().len()
            && self
                .groups
                .iter()
                .zip(state.groups())
                .all(|(group, saved)| {
                    group.members.len() == saved.parameters().len()
                        && group.members.iter().zip(saved.parameters()).all(
                            |(Member { parameter, .. }, saved)| {
                                saved.name() == Some(parameter.name.as_str())
                                    && saved.shape() == Some(parameter.var.dims())
                            },
                        )
                });
        if is_same || !state.has_topology() {
            return Ok(());
        }
        Err(cannot(
            "resume optimizer parameter topology does not match the checkpoint".to_owned(),
        ))
    }
}

fn described(member: &Member) -> OptimizerParameter {
    let Member { parameter, .. } = member;
    OptimizerParameter::new(&parameter.name, parameter.var.dims())
}

fn loaded(class: &str, group: &ParameterGroup, saved: &OptimizerGroup) -> Result<ParameterGroup> {
    let (ours, theirs) = (group.members.len(), saved.parameters().len());
    if ours != theirs {
        return Err(cannot(format!(
            "expected {ours} parameters in a group of the optimizer's state, found {theirs}"
        )));
    }
    let slots = Algorithm::read(class, saved.settings())?.slots();
    let members = group.members.iter().zip(saved.parameters());
    let members = members.map(|(Member { parameter, .. }, saved)| {
        Ok(Member {
            slots: Slots::read(slots, saved, parameter.var.elem_count())?,
            parameter: parameter.clone(),
        })
    });
    Ok(ParameterGroup {
        settings: saved.settings().clone(),
        members: members.collect::<Result<_>>()?,
    })
}

#[cold]
fn cannot(what: String) -> Error {
    ErrorKind::CannotResume { what }.into()
}
