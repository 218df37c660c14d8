//! The state dict.

use std::sync::Arc;

use super::Decoder;
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
