//! The pickle form: from the object graph to a checkpoint.
//!
//! The [`ClassTable`] of a class says how its instances are pickled.

use std::sync::Arc;

use indexmap::IndexMap;
use nnx_params::{
    ClassTable, NNCheckpointTransform, NetParams, PickleForm, PythonClass, State, Value,
};

use super::dataclass_state::{DataclassState, UnknownFields};
use super::plain::Plain;
use super::{NNCheckpoint, allowed};
use crate::Limits;
use crate::error::{Error, ErrorKind, Result};
use crate::pickle::{Graph, NodeId};
use crate::reader::nn_checkpoint::{CLASS, FIELDS, NET_STATE};
use crate::torch::{PickledObject, TorchObject};

/// Whether the object is an instance of `NNCheckpoint`, sound or not.
pub(super) fn is_checkpoint(object: &TorchObject) -> bool {
    let graph = object.graph();
    DataclassState::class_of(graph, graph.root()) == Some(CLASS)
}

/// Rebuilds a checkpoint from a graph, whose every class must be on the list of allowed ones.
pub(super) fn checkpoint(object: &Arc<TorchObject>, limits: &Limits) -> Result<NNCheckpoint> {
    decoded(object, limits).map_err(|error| object.locate(error))
}

fn decoded(object: &Arc<TorchObject>, limits: &Limits) -> Result<NNCheckpoint> {
    let graph = object.graph();
    let root = graph.root();
    if DataclassState::class_of(graph, root) != Some(CLASS) {
        return Err(Error::new(ErrorKind::NotNNCheckpoint {
            found: graph.describe(root),
        }));
    }
    allowed::check(graph)?;
    Decoder {
        object,
        graph,
        plain: Plain::new(graph, limits),
        unknown_fields: UnknownFields::new(),
    }
    .checkpoint(root)
}

/// Reads one checkpoint.
pub(super) struct Decoder<'a> {
    pub(super) object: &'a Arc<TorchObject>,
    pub(super) graph: &'a Graph,
    plain: Plain<'a>,
    unknown_fields: UnknownFields,
}

impl<'a> Decoder<'a> {
    fn checkpoint(mut self, root: NodeId) -> Result<NNCheckpoint> {
        let state = self.dataclass_state(root, (CLASS.0, CLASS.1, FIELDS), "checkpoint")?;
        let net_params = state.optional("net_params");
        let net_params = net_params.map(|id| self.net_params(id)).transpose()?;
        let net_state = self.state_dict(state.require(NET_STATE)?)?;
        let model_params = self.instance(state.require("model_params")?, "model_params")?;
        let idp = self.instance(state.require("idp")?, "idp")?;
        let transforms = state.get("transforms");
        let transforms = transforms.map(|id| self.transforms(id)).transpose()?;
        let id = state.optional("training_state_id").map(|id| {
            let text = self.graph.text(id).map(str::to_owned);
            text.ok_or_else(|| self.expected("a text as `training_state_id`", id))
        });
        let present = state.optional("training_state_present").map(|id| {
            let present = self.graph.bool(id);
            present.ok_or_else(|| self.expected("a bool as `training_state_present`", id))
        });
        Ok(NNCheckpoint {
            net_params,
            net_state,
            model_params,
            idp,
            transforms: transforms.unwrap_or_default(),
            training_state_id: id.transpose()?,
            training_state_present: present.transpose()?,
            extra_metadata: IndexMap::new(),
            unknown_fields: self.unknown_fields,
        })
    }

    /// An instance of a class.
    fn instance<T: PythonClass>(&mut self, id: NodeId, place: &str) -> Result<T> {
        let fields = self.fields(id, T::TABLE, place)?;
        self.checked(T::from_fields(&fields), id)
    }

    fn net_params(&mut self, id: NodeId) -> Result<NetParams> {
        let class = DataclassState::class_of(self.graph, id);
        let table = NetParams::TABLES
            .iter()
            .find(|table| class == Some((table.module, table.class)))
            .ok_or_else(|| self.expected("parameters of a net", id))?;
        let fields = self.fields(id, table, "net_params")?;
        self.checked(NetParams::from_fields(table.class, &fields), id)
    }

    fn transforms(&mut self, id: NodeId) -> Result<Vec<NNCheckpointTransform>> {
        let items = self
            .graph
            .sequence(id)
            .ok_or_else(|| self.expected("a tuple of transforms", id))?;
        items
            .iter()
            .enumerate()
            .map(|(index, &item)| self.instance(item, &format!("transforms[{index}]")))
            .collect()
    }

    /// The arguments of the constructor that would build an instance of a class.
    fn fields(&mut self, id: NodeId, table: &'static ClassTable, place: &str) -> Result<State> {
        let mut state = State::new();
        match table.form {
            PickleForm::Slots => {
                let class = (table.module, table.class, table.fields);
                for (field, value) in self.dataclass_state(id, class, place)?.fields() {
                    state.insert(field, self.field(value, table, field, place)?);
                }
            }
            PickleForm::Attributes => {
                for &(key, value) in self.attributes(id, table)? {
                    let field = self.name(key)?;
                    state.insert(field, self.field(value, table, field, place)?);
                }
            }
            PickleForm::Call(_) => {
                let values = self.arguments(id, table).unwrap_or_default();
                if values.len() != table.fields.len() {
                    let what = format!("{} arguments", table.fields.len());
                    return Err(self.expected(&what, id));
                }
                for (&field, &value) in table.fields.iter().zip(values) {
                    state.insert(field, self.field(value, table, field, place)?);
                }
            }
        }
        Ok(state)
    }

    /// The argument for a field: plain data, or the state of an object of one of the classes that
    /// the field may hold.
    fn field(
        &mut self,
        id: NodeId,
        table: &'static ClassTable,
        field: &str,
        place: &str,
    ) -> Result<Value> {
        let classes = table.classes_of(field);
        let class = match classes {
            _ if self.graph.is_none(id) => None,
            [class] => Some(class),
            // The field may also be plain, as the enum member is that names a built-in net.
            _ => classes
                .iter()
                .find(|class| self.arguments(id, class).is_some()),
        };
        let Some(class) = class else {
            return self.plain.value(id);
        };
        let fields = self.fields(id, class, &format!("{place}.{field}"))?;
        self.checked((class.to_state)(&fields), id).map(Value::Map)
    }

    /// The values of an instance of a slotted dataclass (module, name and fields); values beyond
    /// the fields known here are kept under their positions.
    fn dataclass_state(
        &mut self,
        id: NodeId,
        (module, class, fields): (&str, &'static str, &'static [&'static str]),
        place: &str,
    ) -> Result<DataclassState<'a>> {
        let graph = self.graph;
        let values = (DataclassState::class_of(graph, id) == Some((module, class)))
            .then(|| graph.sequence(DataclassState::state_of(graph, id)?))
            .flatten()
            .ok_or_else(|| {
                let count = fields.len();
                let what = format!("an instance of `{class}` with a list of {count} values");
                self.expected(&what, id)
            })?;
        let state = DataclassState {
            graph,
            class,
            fields,
            values,
        };
        let unknown_fields = state.unknown_fields();
        if !unknown_fields.is_empty() {
            let kept = unknown_fields
                .iter()
                .map(|&id| PickledObject::new(Arc::clone(self.object), id));
            self.unknown_fields.insert(place.to_owned(), kept.collect());
        }
        Ok(state)
    }

    /// The attributes of an object whose state is a dict of them.
    fn attributes(&self, id: NodeId, table: &ClassTable) -> Result<&'a [(NodeId, NodeId)]> {
        let graph = self.graph;
        if DataclassState::class_of(graph, id) != Some((table.module, table.class)) {
            return Err(self.expected(&format!("an instance of `{}`", table.class), id));
        }
        DataclassState::state_of(graph, id)
            .and_then(|state| graph.dict_pairs(state))
            .ok_or_else(|| self.expected("a dict of attributes", id))
    }

    /// The arguments of the call that makes an instance of a class, if the object is such a call.
    fn arguments(&self, id: NodeId, table: &ClassTable) -> Option<&'a [NodeId]> {
        let (class, args) = self.graph.reduce(id)?;
        (class == (table.module, table.global())).then_some(args)
    }

    pub(super) fn name(&self, key: NodeId) -> Result<&'a str> {
        self.graph
            .text(key)
            .ok_or_else(|| self.expected("a text as key", key))
    }

    fn checked<T>(&self, result: Result<T, nnx_params::Error>, id: NodeId) -> Result<T> {
        result.map_err(|error| self.at(error.into(), id))
    }

    #[cold]
    pub(super) fn expected(&self, what: &str, id: NodeId) -> Error {
        self.at(
            Error::malformed(format!("expected {what}, got {}", self.graph.describe(id))),
            id,
        )
    }

    #[cold]
    pub(super) fn at(&self, error: Error, id: NodeId) -> Error {
        match self.graph.offset(id) {
            Some(offset) => error.at(offset),
            None => error,
        }
    }
}
