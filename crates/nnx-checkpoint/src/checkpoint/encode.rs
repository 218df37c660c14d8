//! The pickle form: from a checkpoint to the object graph that Python would hold.
//!
//! A [`PickledInstance`] says how an instance of a class is pickled.

use std::collections::{BTreeMap, HashMap};

use nnx_params::{Number, PickleForm, PickledInstance, PickledValue, PythonClass, State, Value};

use super::{NNCheckpoint, classes, plain};
use crate::error::{Error, Result};
use crate::pickle::NodeId;
use crate::reader::nn_checkpoint;
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
    let (idp, model) = (&checkpoint.idp, &checkpoint.model_params);
    // Without a net there is no state, and nothing that could be unknown.
    let in_model = model.net().is_some() && model.state()? != model.full_state()?;
    let net = checkpoint.net_params.as_ref();
    let in_net = net.is_some_and(|net| net.state() != net.full_state());
    let parts = [
        ("idp".to_owned(), idp.state() != idp.full_state()),
        ("model_params".to_owned(), in_model),
        ("net_params".to_owned(), in_net),
    ];
    let transforms = checkpoint.transforms.iter().enumerate();
    let transforms = transforms.map(|(index, transform)| {
        let is_unknown = transform.state() != transform.full_state();
        (format!("transforms[{index}]"), is_unknown)
    });
    let mut parts = parts.into_iter().chain(transforms);
    match parts.find(|(_, is_unknown)| *is_unknown) {
        None => Ok(()),
        Some((place, _)) => Err(Error::unsupported(format!(
            "`{place}` has keys of a newer version of NNx, for which the pickle form has no place; \
             write the safetensors form instead"
        ))),
    }
}

/// Builds the graph of one checkpoint.
pub(super) struct Encoder<'a> {
    pub(super) builder: TorchBuilder,
    /// The members of NNx's enums met so far: each is one object in Python.
    members: HashMap<(&'static str, &'static str), NodeId>,
    checkpoint: &'a NNCheckpoint,
}

impl Encoder<'_> {
    fn checkpoint(&mut self) -> Result<NodeId> {
        let checkpoint = self.checkpoint;
        let net_params = match &checkpoint.net_params {
            Some(params) => self.instance(&params.pickled(), "net_params")?,
            None => self.builder.none(),
        };
        let net_state = self.state_dict(&checkpoint.net_state)?;
        let model_params = self.instance(&checkpoint.model_params.pickled(), "model_params")?;
        let idp = self.instance(&checkpoint.idp.pickled(), "idp")?;
        let mut transforms = Vec::new();
        for (index, transform) in checkpoint.transforms.iter().enumerate() {
            let place = format!("transforms[{index}]");
            transforms.push(self.instance(&transform.pickled(), &place)?);
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
        let (module, class) = nn_checkpoint::CLASS;
        self.slotted(module, class, values, "checkpoint")
    }

    /// An instance of a slotted dataclass, with the values of a newer version at their positions.
    fn slotted(
        &mut self,
        module: &str,
        class: &str,
        mut values: Vec<NodeId>,
        place: &str,
    ) -> Result<NodeId> {
        let checkpoint = self.checkpoint;
        for object in checkpoint.unknown_fields.get(place).into_iter().flatten() {
            values.push(self.builder.copy(object)?);
        }
        let values = self.builder.list(values);
        Ok(self.builder.instance(module, class, values))
    }

    fn instance(&mut self, instance: &PickledInstance, place: &str) -> Result<NodeId> {
        let PickledInstance { table, values } = instance;
        let mut nodes = Vec::with_capacity(values.len());
        for (field, value) in table.fields.iter().zip(values) {
            nodes.push(self.value(value, &format!("{place}.{field}"))?);
        }
        Ok(match table.form {
            PickleForm::Slots => self.slotted(table.module, table.class, nodes, place)?,
            PickleForm::Attributes => {
                let keys = table
                    .fields
                    .iter()
                    .map(|field| self.builder.interned(field));
                let attributes = keys.collect::<Vec<_>>().into_iter().zip(nodes).collect();
                let attributes = self.builder.dict(attributes);
                self.builder.instance(table.module, table.class, attributes)
            }
            PickleForm::Call(function) => {
                let callable = self.builder.global(table.module, function);
                self.builder.reduce(callable, nodes)
            }
        })
    }

    fn value(&mut self, value: &PickledValue, place: &str) -> Result<NodeId> {
        Ok(match value {
            PickledValue::Plain(value) => plain::node(&mut self.builder, value),
            PickledValue::Text(text) => self.builder.text(text),
            PickledValue::Member {
                module,
                class,
                value,
            } => self.member(module, class, value),
            PickledValue::ImmutableList(items) => {
                let items = self.values(items, place)?;
                let list = self.builder.list(items);
                let (module, class) = classes::IMMUTABLE_LIST;
                let callable = self.builder.global(module, class);
                self.builder.reduce(callable, vec![list])
            }
            PickledValue::Tuple(items) => {
                let items = self.values(items, place)?;
                self.builder.tuple(items)
            }
            PickledValue::FrozenMetrics(metrics) => self.frozen_metrics(metrics),
            PickledValue::Instance(instance) => self.instance(instance, place)?,
        })
    }

    fn values(&mut self, values: &[PickledValue], place: &str) -> Result<Vec<NodeId>> {
        values
            .iter()
            .map(|value| self.value(value, place))
            .collect()
    }

    /// A `_FrozenMetrics`: its slots state holds the pairs twice, as a tuple and as a dict.
    fn frozen_metrics(&mut self, metrics: &BTreeMap<String, Number>) -> NodeId {
        let pairs = metrics.iter();
        let items =
            pairs.map(|(name, &number)| Value::Tuple(vec![name.clone().into(), number.into()]));
        let slots = State::from_iter([
            ("_items", Value::Tuple(items.collect())),
            ("_values", Value::Map(metrics.clone().into_iter().collect())),
        ]);
        let state = Value::Tuple(vec![Value::None, slots.into()]);
        let state = plain::node(&mut self.builder, &state);
        let (module, class) = classes::FROZEN_METRICS;
        self.builder.instance(module, class, state)
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
}
