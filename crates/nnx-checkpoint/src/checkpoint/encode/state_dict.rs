//! The state dict.

use super::Encoder;
use crate::error::Result;
use crate::pickle::NodeId;
use crate::state_dict::{DictKind, StateDict, StateDictMetadata, StateValue};

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
