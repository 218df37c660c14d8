//! The pickle form: from a checkpoint to the object graph that Python would hold.

use std::collections::{BTreeMap, HashMap};

use nnx_params::{
    Activations, Devices, Losses, MonitorRecord, MonitorSpec, NNCheckpointTransform,
    NNEvaluationDataPoint, NNIterationDataPoint, NNModelParams, NNParams, NetDescriptor, NetParams,
    Nets, Number, PrecisionPolicy, TaskSpec,
};

use super::{NNCheckpoint, classes, plain};
use crate::error::{Error, Result};
use crate::pickle::NodeId;
use crate::state_dict::{Mapping, Modules, StateDict, StateValue};
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
    let mut parts = vec![
        (
            "model_params".to_owned(),
            checkpoint.model_params.state()?,
            checkpoint.model_params.full_state()?,
        ),
        (
            "idp".to_owned(),
            checkpoint.idp.state(),
            checkpoint.idp.full_state(),
        ),
    ];
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

    fn net_params(&mut self, params: &NetParams) -> Result<NodeId> {
        let mut values = self.base_params(params.base());
        let module = match params {
            NetParams::Base(_) => classes::NN_PARAMS,
            NetParams::MoE(own) => {
                values.extend([own.num_experts(), own.top_k()].map(|count| self.count(count)));
                classes::NN_MOE_PARAMS
            }
            NetParams::Conv(own) => {
                values.push(self.counts(own.conv_channels()));
                values.extend(
                    [
                        own.in_channels(),
                        own.kernel_size(),
                        own.stride(),
                        own.padding(),
                        own.pool_size(),
                    ]
                    .map(|count| self.count(count)),
                );
                classes::NN_CONV_PARAMS
            }
            NetParams::Transformer(own) => {
                values.extend(
                    [
                        own.vocab_size(),
                        own.n_layers(),
                        own.d_model(),
                        own.max_seq_len(),
                        own.ffn_mult(),
                    ]
                    .map(|count| self.count(count)),
                );
                values.extend(
                    [
                        own.rope_base(),
                        own.tie_embeddings_given(),
                        own.attn_dropout(),
                        own.resid_dropout(),
                    ]
                    .map(|number| self.number(number)),
                );
                classes::NN_TRANSFORMER_PARAMS
            }
            NetParams::ViT(own) => {
                values.extend(
                    [
                        own.image_size(),
                        own.patch_size(),
                        own.d_model(),
                        own.n_layers(),
                        own.in_channels(),
                        own.ffn_mult(),
                    ]
                    .map(|count| self.count(count)),
                );
                values.extend(
                    [own.attn_dropout(), own.resid_dropout()].map(|number| self.number(number)),
                );
                classes::NN_VIT_PARAMS
            }
            other => {
                return Err(Error::unsupported(format!(
                    "the pickle form of `{}` is not known",
                    other.class()
                )));
            }
        };
        self.slotted(module, params.class(), values, "net_params")
    }

    /// The fields of `NNParams`, which the other classes repeat in front of their own.
    fn base_params(&mut self, params: &NNParams) -> Vec<NodeId> {
        let dropout_prob = self.number(params.dropout_prob());
        let n_heads = match params.n_heads() {
            Some(n_heads) => self.count(n_heads),
            None => self.builder.none(),
        };
        let activation = match params.activation() {
            Some(activation) => self.activation(activation),
            None => self.builder.none(),
        };
        let activations = match params.activations() {
            Some(activations) => {
                let members = activations
                    .iter()
                    .map(|&member| self.activation(member))
                    .collect();
                self.immutable_list(members)
            }
            None => self.builder.none(),
        };
        let dropout_probs = match params.dropout_probs() {
            Some(numbers) => {
                let numbers = numbers.iter().map(|&number| self.number(number)).collect();
                self.immutable_list(numbers)
            }
            None => self.builder.none(),
        };
        let input_dim = self.count(params.input_dim());
        let output_dim = self.count(params.output_dim());
        let hidden_dims = match params.hidden_dims() {
            Some(hidden_dims) => self.counts(hidden_dims),
            None => self.builder.none(),
        };
        let dims = self.counts(&params.dims());
        vec![
            dropout_prob,
            n_heads,
            activation,
            activations,
            dropout_probs,
            input_dim,
            output_dim,
            hidden_dims,
            dims,
        ]
    }

    fn model_params(&mut self, params: &NNModelParams) -> Result<NodeId> {
        let net = match params.net() {
            Some(net) => self.net(net)?,
            None => self.builder.none(),
        };
        let device = self.member(Devices::MODULE, Devices::CLASS, params.device().value());
        let loss = self.member(Losses::MODULE, Losses::CLASS, params.loss().value());
        let mixed_precision = self.builder.bool(params.mixed_precision());
        let task = match params.task() {
            Some(task) => self.task(task)?,
            None => self.builder.none(),
        };
        let precision = match params.precision() {
            Some(precision) => self.precision(precision)?,
            None => self.builder.none(),
        };
        let values = vec![net, device, loss, mixed_precision, task, precision];
        self.slotted(
            classes::NN_MODEL_PARAMS,
            NNModelParams::CLASS,
            values,
            "model_params",
        )
    }

    fn net(&mut self, net: &NetDescriptor) -> Result<NodeId> {
        match net {
            NetDescriptor::Net(net) => Ok(self.member(Nets::MODULE, Nets::CLASS, net.value())),
            NetDescriptor::Registered(spec) => {
                let callable = self.builder.global(classes::MODELS, "_model_spec");
                let args = vec![
                    self.builder.text(spec.id()),
                    self.count(spec.version()),
                    plain::dict(&mut self.builder, spec.config()),
                    self.count(spec.seed()),
                ];
                Ok(self.builder.reduce(callable, args))
            }
            NetDescriptor::Runtime(module) => {
                let callable = self.builder.global(classes::MODELS, "RuntimeModule");
                let args = vec![
                    self.builder.text(module.module()),
                    self.builder.text(module.topology()),
                ];
                Ok(self.builder.reduce(callable, args))
            }
            other => Err(Error::unsupported(format!(
                "the pickle form of `{other}` is not known"
            ))),
        }
    }

    fn task(&mut self, task: &TaskSpec) -> Result<NodeId> {
        let labels = match task.labels() {
            Some(labels) => {
                let labels = labels
                    .iter()
                    .map(|label| self.builder.text(label))
                    .collect();
                self.builder.tuple(labels)
            }
            None => self.builder.none(),
        };
        let values = vec![
            self.builder.interned(task.kind().value()),
            match task.num_outputs() {
                Some(count) => self.count(count),
                None => self.builder.none(),
            },
            match task.ignore_index() {
                Some(index) => self.builder.int(index),
                None => self.builder.none(),
            },
            self.builder.float(task.threshold()),
            labels,
        ];
        self.slotted(classes::TASKS, TaskSpec::CLASS, values, "model_params.task")
    }

    fn precision(&mut self, precision: &PrecisionPolicy) -> Result<NodeId> {
        let values = vec![
            self.builder.interned(precision.mode().value()),
            self.builder.interned(precision.fallback().value()),
        ];
        let class = PrecisionPolicy::CLASS;
        self.slotted(classes::PRECISION, class, values, "model_params.precision")
    }

    fn idp(&mut self, idp: &NNIterationDataPoint) -> Result<NodeId> {
        let mut values: Vec<NodeId> = [idp.lr(), idp.iter_idx(), idp.epoch_idx(), idp.batch_idx()]
            .map(|number| self.number(number))
            .into();
        values.push(self.edp(idp.train_edp(), "idp.train_edp")?);
        values.push(self.optional_edp(idp.val_edp(), "idp.val_edp")?);
        values.push(self.optional_edp(idp.train_summary(), "idp.train_summary")?);
        values.push(match idp.selection() {
            Some(record) => self.selection(record),
            None => self.builder.none(),
        });
        values.push(self.optional_number(idp.update_count()));
        let class = NNIterationDataPoint::CLASS;
        self.slotted(classes::NN_ITERATION_DATA_POINT, class, values, "idp")
    }

    fn optional_edp(&mut self, edp: Option<&NNEvaluationDataPoint>, place: &str) -> Result<NodeId> {
        match edp {
            Some(edp) => self.edp(edp, place),
            None => Ok(self.builder.none()),
        }
    }

    fn edp(&mut self, edp: &NNEvaluationDataPoint, place: &str) -> Result<NodeId> {
        let mut values: Vec<NodeId> = [
            edp.f1(),
            edp.recall(),
            edp.accuracy(),
            edp.precision(),
            edp.loss(),
            edp.error(),
        ]
        .map(|number| self.optional_number(number))
        .into();
        values.push(self.frozen_metrics(edp.extra()));
        values.push(match edp.kind() {
            Some(kind) => self.builder.interned(kind),
            None => self.builder.none(),
        });
        values.push(match edp.count() {
            Some(count) => self.builder.big_int(count.into()),
            None => self.builder.none(),
        });
        values.push(match edp.status() {
            Some(status) => self.builder.interned(status),
            None => self.builder.none(),
        });
        values.push(self.frozen_metrics(edp.metrics()));
        let class = NNEvaluationDataPoint::CLASS;
        self.slotted(classes::NN_EVALUATION_DATA_POINT, class, values, place)
    }

    /// A `_FrozenMetrics`: its slots state holds the pairs twice, as a tuple and as a dict.
    fn frozen_metrics(&mut self, metrics: &BTreeMap<String, Number>) -> NodeId {
        let mut items = Vec::new();
        let mut values = Vec::new();
        for (name, &number) in metrics {
            let name = self.builder.interned(name);
            let pair = vec![name, self.number(number)];
            items.push(self.builder.tuple(pair));
            values.push((name, self.number(number)));
        }
        let items = self.builder.tuple(items);
        let values = self.builder.dict(values);
        let slots = vec![
            (self.builder.interned("_items"), items),
            (self.builder.interned("_values"), values),
        ];
        let slots = self.builder.dict(slots);
        let state = vec![self.builder.none(), slots];
        let state = self.builder.tuple(state);
        self.builder
            .instance(classes::NN_EVALUATION_DATA_POINT, "_FrozenMetrics", state)
    }

    /// A `MonitorRecord`, whose state is a dict of its attributes, as is that of its `MonitorSpec`.
    fn selection(&mut self, record: &MonitorRecord) -> NodeId {
        let monitor = plain::dict(&mut self.builder, &record.monitor().state());
        let monitor = self
            .builder
            .instance(classes::MONITORS, MonitorSpec::CLASS, monitor);
        let attributes = vec![
            (self.builder.interned("monitor"), monitor),
            (
                self.builder.interned("value"),
                self.optional_number(record.value()),
            ),
            (
                self.builder.interned("status"),
                self.builder.interned(record.status().value()),
            ),
            (
                self.builder.interned("improved"),
                self.builder.bool(record.improved()),
            ),
        ];
        let attributes = self.builder.dict(attributes);
        self.builder
            .instance(classes::MONITORS, MonitorRecord::CLASS, attributes)
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

    fn state_dict(&mut self, state: &StateDict) -> Result<NodeId> {
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
        if state.mapping() == Mapping::Dict {
            return Ok(self.builder.dict(pairs));
        }
        let attributes = match state.modules() {
            Modules::None => None,
            Modules::Attributes(object) => Some(self.builder.copy(object)?),
            Modules::Versions(modules) => Some(self.module_versions(modules)),
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
