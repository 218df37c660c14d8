//! The state dict in the pickle form: from the object graph, and to it.

use std::sync::Arc;

use super::decode::Decoder;
use super::encode::Encoder;
use crate::Tensor;
use crate::error::{Error, Result};
use crate::pickle::{Node, NodeId};
use crate::state_dict::{DictKind, StateDict, StateDictMetadata, StateValue};
use crate::torch::PickledObject;

impl Decoder<'_> {
    /// An `OrderedDict` or a plain dict of names and tensors.
    pub(super) fn state_dict(&self, id: NodeId) -> Result<StateDict> {
        let graph = self.graph;
        let (mapping, attributes) = match graph.node(id) {
            Node::Dict(_) => (DictKind::Dict, None),
            Node::Object(object)
                if object.items.is_empty()
                    && matches!(graph.reduce(id), Some((("collections", "OrderedDict"), []))) =>
            {
                (DictKind::OrderedDict, object.state)
            }
            _ => return Err(self.expected("a state dict", id)),
        };
        let pairs = graph.dict_pairs(id).unwrap_or_default();
        let mut state = StateDict::new();
        for &(key, value) in pairs {
            let name = self.name(key)?;
            if state.get(name).is_some() {
                return Err(self.at(
                    Error::malformed("the state dict has this name twice").in_tensor(name),
                    key,
                ));
            }
            let tensor: Option<Tensor> = self
                .object
                .unread_tensor(value)
                .map_err(|error| self.at(error.in_tensor(name), value))?;
            state.insert_value(
                name,
                match tensor {
                    Some(tensor) => StateValue::Tensor(tensor),
                    None => StateValue::Object(self.kept(value)),
                },
            );
        }
        let modules = attributes.map_or(StateDictMetadata::None, |id| {
            StateDictMetadata::Attributes(self.kept(id))
        });
        Ok(state.with_mapping(mapping).with_modules(modules))
    }

    fn kept(&self, id: NodeId) -> PickledObject {
        PickledObject::new(Arc::clone(self.object), id)
    }
}

impl Encoder<'_> {
    pub(super) fn state_dict(&mut self, state: &StateDict) -> Result<NodeId> {
        let mut pairs = Vec::new();
        for (name, value) in state.iter() {
            let key = self.builder.text(name);
            let value = match value {
                StateValue::Tensor(tensor) => self
                    .builder
                    .tensor(tensor)
                    .map_err(|error| error.in_tensor(name))?,
                StateValue::Object(object) => self
                    .builder
                    .copy(object)
                    .map_err(|error| error.in_tensor(name))?,
            };
            pairs.push((key, value));
        }
        if state.mapping() == DictKind::Dict {
            return Ok(self.builder.dict(pairs));
        }
        let attributes = match state.modules() {
            StateDictMetadata::None => None,
            StateDictMetadata::Attributes(object) => Some(self.builder.copy(object)?),
            StateDictMetadata::Versions(modules) => Some(self.module_versions(modules)),
        };
        Ok(self.builder.ordered_dict(pairs, attributes))
    }

    /// The attributes of a state dict: `_metadata` alone.
    fn module_versions(&mut self, modules: &[(String, i64)]) -> NodeId {
        let mut versions = Vec::new();
        for (path, version) in modules {
            let path = self.builder.text(path);
            let version = vec![(self.builder.interned("version"), self.builder.int(*version))];
            versions.push((path, self.builder.dict(version)));
        }
        let versions = self.builder.ordered_dict(versions, None);
        let attributes = vec![(self.builder.interned("_metadata"), versions)];
        self.builder.dict(attributes)
    }
}
