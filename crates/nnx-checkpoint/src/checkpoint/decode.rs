//! The pickle form: from the object graph to a checkpoint.

use std::sync::Arc;

use indexmap::IndexMap;
use nnx_params::{
    ModelSpec, MonitorRecord, MonitorSpec, NNCheckpointTransform, NNConvParams,
    NNEvaluationDataPoint, NNIterationDataPoint, NNMoEParams, NNModelParams, NNParams,
    NNTransformerParams, NNViTParams, NetParams, PrecisionPolicy, RuntimeModule, State, TaskSpec,
    Value,
};

use super::plain::Plain;
use super::slots::{Slots, Surplus};
use super::{NNCheckpoint, allowed, classes};
use crate::error::{Error, ErrorKind, Result};
use crate::pickle::{Call, Graph, Node, NodeId};
use crate::state_dict::{DictKind, StateDict, StateDictMetadata, StateValue};
use crate::torch::{PickledObject, TorchObject};
use crate::{Limits, Tensor};

/// Fields of `NNCheckpoint` in declaration order.
const FIELDS: &[&str] = &[
    "net_params",
    "net_state",
    "model_params",
    "idp",
    "transforms",
    "training_state_id",
    "training_state_present",
];

/// Whether the object is an instance of `NNCheckpoint`, sound or not.
pub(super) fn is_checkpoint(object: &TorchObject) -> bool {
    let graph = object.graph();
    Slots::class_of(graph, graph.root()) == Some((classes::CHECKPOINT, "NNCheckpoint"))
}

/// Rebuilds a checkpoint from a graph, whose every class must be on the list of allowed ones.
pub(super) fn checkpoint(object: &Arc<TorchObject>, limits: &Limits) -> Result<NNCheckpoint> {
    decoded(object, limits).map_err(|error| object.locate(error))
}

fn decoded(object: &Arc<TorchObject>, limits: &Limits) -> Result<NNCheckpoint> {
    let graph = object.graph();
    let root = graph.root();
    if Slots::class_of(graph, root) != Some((classes::CHECKPOINT, "NNCheckpoint")) {
        return Err(Error::new(ErrorKind::NotNNCheckpoint {
            found: graph.describe(root),
        }));
    }
    allowed::check(graph)?;
    Decoder {
        object,
        graph,
        plain: Plain::new(graph, limits),
        surplus: Surplus::new(),
    }
    .checkpoint(root)
}

struct Decoder<'a> {
    object: &'a Arc<TorchObject>,
    graph: &'a Graph,
    plain: Plain<'a>,
    surplus: Surplus,
}

impl<'a> Decoder<'a> {
    fn checkpoint(mut self, root: NodeId) -> Result<NNCheckpoint> {
        let slots = self.slots(
            root,
            classes::CHECKPOINT,
            "NNCheckpoint",
            FIELDS,
            "checkpoint",
        )?;
        let net_params = match slots.optional("net_params") {
            Some(id) => Some(self.net_params(id)?),
            None => None,
        };
        let net_state = self.state_dict(slots.require("net_state")?)?;
        let model_params = self.model_params(slots.require("model_params")?)?;
        let idp = self.idp(slots.require("idp")?)?;
        let transforms = match slots.get("transforms") {
            Some(id) => self.transforms(id)?,
            None => Vec::new(),
        };
        let training_state_id = match slots.optional("training_state_id") {
            Some(id) => Some(
                self.graph
                    .text(id)
                    .ok_or_else(|| self.expected("a text as `training_state_id`", id))?
                    .to_owned(),
            ),
            None => None,
        };
        let training_state_present = match slots.optional("training_state_present") {
            Some(id) => Some(
                self.graph
                    .bool(id)
                    .ok_or_else(|| self.expected("a bool as `training_state_present`", id))?,
            ),
            None => None,
        };
        Ok(NNCheckpoint {
            net_params,
            net_state,
            model_params,
            idp,
            transforms,
            training_state_id,
            training_state_present,
            extra_metadata: IndexMap::new(),
            surplus: self.surplus,
        })
    }

    /// Reads an instance of a slotted dataclass; what it holds beyond the fields known here is kept
    /// under its place.
    fn slots(
        &mut self,
        id: NodeId,
        module: &str,
        class: &'static str,
        fields: &'static [&'static str],
        place: &str,
    ) -> Result<Slots<'a>> {
        let slots = Slots::read(self.graph, id, module, class, fields)?;
        let surplus = slots.surplus();
        if !surplus.is_empty() {
            let kept = surplus
                .iter()
                .map(|&id| PickledObject::new(Arc::clone(self.object), id));
            self.surplus.insert(place.to_owned(), kept.collect());
        }
        Ok(slots)
    }

    fn net_params(&mut self, id: NodeId) -> Result<NetParams> {
        let found = Slots::class_of(self.graph, id);
        let known: [(&str, &'static str, &'static [&'static str]); 5] = [
            (classes::NN_PARAMS, NNParams::CLASS, NNParams::FIELDS),
            (
                classes::NN_MOE_PARAMS,
                NNMoEParams::CLASS,
                NNMoEParams::FIELDS,
            ),
            (
                classes::NN_CONV_PARAMS,
                NNConvParams::CLASS,
                NNConvParams::FIELDS,
            ),
            (
                classes::NN_TRANSFORMER_PARAMS,
                NNTransformerParams::CLASS,
                NNTransformerParams::FIELDS,
            ),
            (
                classes::NN_VIT_PARAMS,
                NNViTParams::CLASS,
                NNViTParams::FIELDS,
            ),
        ];
        let &(module, class, fields) = known
            .iter()
            .find(|(module, class, _)| found == Some((module, class)))
            .ok_or_else(|| self.expected("parameters of a net", id))?;
        let slots = self.slots(id, module, class, fields, "net_params")?;
        let state = slots.state(&mut self.plain)?;
        NetParams::from_fields(class, &state).map_err(|error| self.at(error.into(), id))
    }

    fn model_params(&mut self, id: NodeId) -> Result<NNModelParams> {
        let slots = self.slots(
            id,
            classes::NN_MODEL_PARAMS,
            NNModelParams::CLASS,
            NNModelParams::FIELDS,
            "model_params",
        )?;
        let mut state = State::new();
        for field in NNModelParams::FIELDS {
            let Some(value) = slots.get(field) else {
                continue;
            };
            let value = match *field {
                "net" => self.net(value)?,
                "task" if slots.optional(field).is_some() => {
                    let (class, fields) = (TaskSpec::CLASS, TaskSpec::FIELDS);
                    let slots =
                        self.slots(value, classes::TASKS, class, fields, "model_params.task")?;
                    let state = slots.state(&mut self.plain)?;
                    self.checked(TaskSpec::from_fields(&state), value)?
                        .state()
                        .into()
                }
                "precision" if slots.optional(field).is_some() => {
                    let (class, fields) = (PrecisionPolicy::CLASS, PrecisionPolicy::FIELDS);
                    let place = "model_params.precision";
                    let slots = self.slots(value, classes::PRECISION, class, fields, place)?;
                    let state = slots.state(&mut self.plain)?;
                    self.checked(PrecisionPolicy::from_fields(&state), value)?
                        .state()
                        .into()
                }
                _ => self.plain.value(value)?,
            };
            state.insert(*field, value);
        }
        self.checked(NNModelParams::from_fields(&state), id)
    }

    /// A member of `Nets`, or the call that makes a `ModelSpec` or a `RuntimeModule`.
    fn net(&mut self, id: NodeId) -> Result<Value> {
        let call = match self.graph.object(id).map(|object| &object.call) {
            Some(&Call::Reduce { callable, args }) => {
                self.graph.global(callable).zip(self.graph.sequence(args))
            }
            _ => None,
        };
        let fields = match call {
            Some(((classes::MODELS, "_model_spec"), args)) => (ModelSpec::FIELDS, args),
            Some(((classes::MODELS, "RuntimeModule"), args)) => (RuntimeModule::FIELDS, args),
            _ => return self.plain.value(id),
        };
        let (names, args) = fields;
        if names.len() != args.len() {
            return Err(self.expected(&format!("{} arguments", names.len()), id));
        }
        let mut state = State::new();
        for (name, &arg) in names.iter().zip(args) {
            state.insert(*name, self.plain.value(arg)?);
        }
        Ok(if names == ModelSpec::FIELDS {
            self.checked(ModelSpec::from_fields(&state), id)?
                .state()
                .into()
        } else {
            self.checked(RuntimeModule::from_fields(&state), id)?
                .state()
                .into()
        })
    }

    fn idp(&mut self, id: NodeId) -> Result<NNIterationDataPoint> {
        let slots = self.slots(
            id,
            classes::NN_ITERATION_DATA_POINT,
            NNIterationDataPoint::CLASS,
            NNIterationDataPoint::FIELDS,
            "idp",
        )?;
        let mut state = State::new();
        for field in NNIterationDataPoint::FIELDS {
            let Some(value) = slots.get(field) else {
                continue;
            };
            let place = match *field {
                "train_edp" => "idp.train_edp",
                "val_edp" => "idp.val_edp",
                "train_summary" => "idp.train_summary",
                "selection" if slots.optional(field).is_some() => {
                    state.insert(*field, self.selection(value)?);
                    continue;
                }
                _ => {
                    state.insert(*field, self.plain.value(value)?);
                    continue;
                }
            };
            if *self.graph.node(value) == Node::None {
                state.insert(*field, Value::None);
            } else {
                let edp = self.edp(value, place)?;
                state.insert(*field, Value::Map(edp.state()));
            }
        }
        self.checked(NNIterationDataPoint::from_fields(&state), id)
    }

    fn edp(&mut self, id: NodeId, place: &str) -> Result<NNEvaluationDataPoint> {
        let (class, fields) = (NNEvaluationDataPoint::CLASS, NNEvaluationDataPoint::FIELDS);
        let slots = self.slots(id, classes::NN_EVALUATION_DATA_POINT, class, fields, place)?;
        let state = slots.state(&mut self.plain)?;
        self.checked(NNEvaluationDataPoint::from_fields(&state), id)
    }

    /// A `MonitorRecord`, whose state is a dict of its attributes, as is that of its `MonitorSpec`.
    fn selection(&mut self, id: NodeId) -> Result<Value> {
        let mut state = State::new();
        for &(key, value) in self.attributes(id, MonitorRecord::CLASS)? {
            match self.graph.text(key) {
                Some("monitor") => {
                    let mut monitor = State::new();
                    for &(key, value) in self.attributes(value, MonitorSpec::CLASS)? {
                        monitor.insert(self.name(key)?, self.plain.value(value)?);
                    }
                    let monitor = self.checked(MonitorSpec::from_fields(&monitor), value)?;
                    state.insert("monitor", Value::Map(monitor.state()));
                }
                _ => {
                    state.insert(self.name(key)?, self.plain.value(value)?);
                }
            }
        }
        Ok(self
            .checked(MonitorRecord::from_fields(&state), id)?
            .state()
            .into())
    }

    fn attributes(&self, id: NodeId, class: &'static str) -> Result<&'a [(NodeId, NodeId)]> {
        let graph = self.graph;
        if Slots::class_of(graph, id) != Some((classes::MONITORS, class)) {
            return Err(self.expected(&format!("an instance of `{class}`"), id));
        }
        Slots::state_of(graph, id)
            .and_then(|state| graph.dict_pairs(state))
            .ok_or_else(|| self.expected("a dict of attributes", id))
    }

    fn name(&self, key: NodeId) -> Result<&'a str> {
        self.graph
            .text(key)
            .ok_or_else(|| self.expected("a text as key", key))
    }

    fn transforms(&mut self, id: NodeId) -> Result<Vec<NNCheckpointTransform>> {
        let items = self
            .graph
            .sequence(id)
            .ok_or_else(|| self.expected("a tuple of transforms", id))?;
        items
            .iter()
            .enumerate()
            .map(|(index, &item)| {
                let (class, fields) = (NNCheckpointTransform::CLASS, NNCheckpointTransform::FIELDS);
                let place = format!("transforms[{index}]");
                let slots = self.slots(item, classes::CHECKPOINT, class, fields, &place)?;
                let state = slots.state(&mut self.plain)?;
                self.checked(NNCheckpointTransform::from_fields(&state), item)
            })
            .collect()
    }

    /// An `OrderedDict` or a plain dict of names and tensors.
    fn state_dict(&self, id: NodeId) -> Result<StateDict> {
        let graph = self.graph;
        let (mapping, attributes) = match graph.node(id) {
            Node::Dict(_) => (DictKind::Dict, None),
            Node::Object(object) => match object.call {
                Call::Reduce { callable, args }
                    if graph.global(callable) == Some(("collections", "OrderedDict"))
                        && graph.sequence(args).is_some_and(<[_]>::is_empty)
                        && object.items.is_empty() =>
                {
                    (DictKind::OrderedDict, object.state)
                }
                _ => return Err(self.expected("a state dict", id)),
            },
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

    fn checked<T>(&self, result: Result<T, nnx_params::Error>, id: NodeId) -> Result<T> {
        result.map_err(|error| self.at(error.into(), id))
    }

    #[cold]
    fn expected(&self, what: &str, id: NodeId) -> Error {
        self.at(
            Error::malformed(format!("expected {what}, got {}", self.graph.describe(id))),
            id,
        )
    }

    #[cold]
    fn at(&self, error: Error, id: NodeId) -> Error {
        match self.graph.offset(id) {
            Some(offset) => error.at(offset),
            None => error,
        }
    }
}
