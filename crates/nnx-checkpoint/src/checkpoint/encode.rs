//! The pickle form: from a checkpoint to the object graph that Python would hold.

mod data_points;
mod params;
mod state_dict;

use std::collections::HashMap;

use nnx_params::{Activations, NNCheckpointTransform, Number};

use super::{NNCheckpoint, classes, plain};
use crate::error::{Error, Result};
use crate::pickle::NodeId;
use crate::torch::{TorchBuilder, TorchObject};

/// The graph of a checkpoint, every class with the fields of NNx 0.4.1.
pub(super) fn object(checkpoint: &NNCheckpoint) -> Result<TorchObject> {
    refuse_unknown_keys(checkpoint)?;
    let mut encoder = Encoder {
        builder: TorchBuilder::new(),
        members: HashMap::new(),
        checkpoint,
    };
    let root = encoder.checkpoint()?;
    Ok(encoder.builder.finish(root))
}

/// A pickle stores fields by position: keys that this version does not know have no place in it.
fn refuse_unknown_keys(checkpoint: &NNCheckpoint) -> Result<()> {
    let mut parts = vec![(
        "idp".to_owned(),
        checkpoint.idp.state(),
        checkpoint.idp.full_state(),
    )];
    // Without a net there is no state, and nothing that could be unknown.
    if checkpoint.model_params.net().is_some() {
        parts.push((
            "model_params".to_owned(),
            checkpoint.model_params.state()?,
            checkpoint.model_params.full_state()?,
        ));
    }
    if let Some(params) = &checkpoint.net_params {
        parts.push(("net_params".to_owned(), params.state(), params.full_state()));
    }
    for (index, transform) in checkpoint.transforms.iter().enumerate() {
        parts.push((
            format!("transforms[{index}]"),
            transform.state(),
            transform.full_state(),
        ));
    }
    // That its tensors are PyTorch's goes without saying in a pickle.
    let mut extra = checkpoint.extra_metadata.iter();
    if let Some((key, _)) =
        extra.find(|(key, value)| (key.as_str(), value.as_str()) != ("format", "pt"))
    {
        return Err(Error::unsupported(format!(
            "the metadata key `{key}` has no place in the pickle form; remove it from \
             `extra_metadata`, or write the safetensors form instead"
        )));
    }
    match parts.iter().find(|(_, known, full)| known != full) {
        None => Ok(()),
        Some((place, _, _)) => Err(Error::unsupported(format!(
            "`{place}` has keys of a newer version of NNx, for which the pickle form has no place; \
             write the safetensors form instead"
        ))),
    }
}

struct Encoder<'a> {
    builder: TorchBuilder,
    /// The members of NNx's enums met so far: each is one object in Python.
    members: HashMap<(&'static str, &'static str), NodeId>,
    checkpoint: &'a NNCheckpoint,
}

impl Encoder<'_> {
    fn checkpoint(&mut self) -> Result<NodeId> {
        let checkpoint = self.checkpoint;
        let net_params = match &checkpoint.net_params {
            Some(params) => self.net_params(params)?,
            None => self.builder.none(),
        };
        let net_state = self.state_dict(&checkpoint.net_state)?;
        let model_params = self.model_params(&checkpoint.model_params)?;
        let idp = self.idp(&checkpoint.idp)?;
        let mut transforms = Vec::new();
        for (index, transform) in checkpoint.transforms.iter().enumerate() {
            transforms.push(self.transform(transform, index)?);
        }
        let transforms = self.builder.tuple(transforms);
        let id = match &checkpoint.training_state_id {
            Some(id) => self.builder.text(id),
            None => self.builder.none(),
        };
        let present = match checkpoint.training_state_present {
            Some(present) => self.builder.bool(present),
            None => self.builder.none(),
        };
        let values = vec![
            net_params,
            net_state,
            model_params,
            idp,
            transforms,
            id,
            present,
        ];
        self.slotted(classes::CHECKPOINT, "NNCheckpoint", values, "checkpoint")
    }

    /// An instance of a slotted dataclass, with what a newer version had stored at that place.
    fn slotted(
        &mut self,
        module: &str,
        class: &str,
        mut values: Vec<NodeId>,
        place: &str,
    ) -> Result<NodeId> {
        let checkpoint = self.checkpoint;
        for object in checkpoint.surplus.get(place).into_iter().flatten() {
            values.push(self.builder.copy(object)?);
        }
        let values = self.builder.list(values);
        Ok(self.builder.instance(module, class, values))
    }

    fn transform(&mut self, transform: &NNCheckpointTransform, index: usize) -> Result<NodeId> {
        let values = vec![
            self.builder.interned(transform.name()),
            self.number(transform.version()),
            plain::dict(&mut self.builder, transform.options()),
        ];
        let place = format!("transforms[{index}]");
        self.slotted(
            classes::CHECKPOINT,
            NNCheckpointTransform::CLASS,
            values,
            &place,
        )
    }

    fn activation(&mut self, activation: Activations) -> NodeId {
        self.member(Activations::MODULE, Activations::CLASS, activation.value())
    }

    /// A member of an enum: the class called with the member's value.
    fn member(&mut self, module: &str, class: &'static str, value: &'static str) -> NodeId {
        if let Some(&member) = self.members.get(&(class, value)) {
            return member;
        }
        let callable = self.builder.global(module, class);
        let text = self.builder.interned(value);
        let member = self.builder.reduce(callable, vec![text]);
        self.members.insert((class, value), member);
        member
    }

    fn immutable_list(&mut self, items: Vec<NodeId>) -> NodeId {
        let callable = self.builder.global(classes::NN_PARAMS, "_ImmutableList");
        let list = self.builder.list(items);
        self.builder.reduce(callable, vec![list])
    }

    fn counts(&mut self, counts: &[usize]) -> NodeId {
        let counts = counts.iter().map(|&count| self.count(count)).collect();
        self.immutable_list(counts)
    }

    fn count(&mut self, count: usize) -> NodeId {
        self.builder
            .big_int(i128::try_from(count).unwrap_or(i128::MAX))
    }

    fn number(&mut self, number: Number) -> NodeId {
        plain::node(&mut self.builder, &number.into())
    }

    fn optional_number(&mut self, number: Option<Number>) -> NodeId {
        match number {
            Some(number) => self.number(number),
            None => self.builder.none(),
        }
    }
}
