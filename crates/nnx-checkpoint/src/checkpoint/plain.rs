//! Plain Python data in a pickle graph, as values of nnx-params, and back.

use nnx_params::{State, Value, python_text};

use super::{classes, numpy};
use crate::Limits;
use crate::error::{Error, Result};
use crate::pickle::{Call, Graph, Node, NodeId, Object};
use crate::torch::TorchBuilder;

/// A value that cannot be read back from JSON is not taken from a pickle either; the JSON form wraps
/// the options of a transform in two levels of its own.
const MAX_DEPTH: u64 = python_text::MAX_DEPTH as u64 - 2;

/// So many bytes of a text, or of a key, count as a value of their own.
const TEXT_BYTES_PER_VALUE: u64 = 32;

/// Turns objects of one graph into values, within one budget: a graph may share, a value does not,
/// so a small file could otherwise ask for an immense value.
#[derive(Debug)]
pub(super) struct Plain<'a> {
    graph: &'a Graph,
    depth: u64,
    max_depth: u64,
    budget: u64,
    max_values: u64,
}

impl<'a> Plain<'a> {
    pub(super) fn new(graph: &'a Graph, limits: &Limits) -> Self {
        Self {
            graph,
            depth: 0,
            max_depth: limits.max_depth.min(MAX_DEPTH),
            budget: limits.max_values,
            max_values: limits.max_values,
        }
    }

    /// The value of an object: None, bools, numbers, texts, lists, tuples, dicts with text keys,
    /// the enums of NNx (as their texts), its immutable lists and its frozen metrics, and NumPy's
    /// scalars (as the numbers that they are).
    ///
    /// # Errors
    /// When the object, or one within it, is anything else.
    pub(super) fn value(&mut self, id: NodeId) -> Result<Value> {
        self.spend(1)?;
        if self.depth >= self.max_depth {
            let found = self.max_depth.saturating_add(1);
            return Err(Error::limit("max_depth", self.max_depth, found));
        }
        self.depth = self.depth.saturating_add(1);
        let value = self
            .convert(id)
            .map_err(|error| match self.graph.offset(id) {
                Some(offset) => error.at(offset),
                None => error,
            });
        self.depth = self.depth.saturating_sub(1);
        value
    }

    /// Takes a part of the budget.
    fn spend(&mut self, values: u64) -> Result<()> {
        let found = self.max_values.saturating_add(1);
        self.budget = self
            .budget
            .checked_sub(values)
            .ok_or_else(|| Error::limit("max_values", self.max_values, found))?;
        Ok(())
    }

    fn convert(&mut self, id: NodeId) -> Result<Value> {
        Ok(match self.graph.node(id) {
            Node::None => Value::None,
            Node::Bool(value) => Value::Bool(*value),
            Node::Int(value) => Value::Int((*value).into()),
            Node::BigInt(bytes) => Value::Int(big_int(bytes)?),
            Node::Float(value) => Value::Float(*value),
            Node::Str(text) => match text.as_str() {
                Some(text) => {
                    self.spend(text.len() as u64 / TEXT_BYTES_PER_VALUE)?;
                    Value::Str(text.to_owned())
                }
                None => {
                    return Err(Error::unsupported(
                        "a configuration text with lone surrogates",
                    ));
                }
            },
            Node::List(items) => Value::List(self.values(items)?),
            Node::Tuple(items) => Value::Tuple(self.values(items)?),
            Node::Dict(pairs) => Value::Map(self.state(pairs)?),
            Node::Object(object) => self.object(id, object)?,
            _ => return Err(self.unexpected(id)),
        })
    }

    /// `Nets('feed_fwd')`, `_ImmutableList([8])`, an `OrderedDict`, a `_FrozenMetrics` or a scalar
    /// of NumPy's.
    fn object(&mut self, id: NodeId, object: &Object) -> Result<Value> {
        if let Some(value) = numpy::scalar(self.graph, id) {
            return value;
        }
        let unfilled = object.items.is_empty() && object.pairs.is_empty();
        let unset = object.state.is_none();
        match object.call {
            Call::Reduce { callable, args } => {
                let args = self.graph.sequence(args).unwrap_or_default();
                match (self.graph.global(callable), args) {
                    (Some(("collections", "OrderedDict")), [])
                        if object.items.is_empty() && unset =>
                    {
                        Ok(Value::Map(self.state(&object.pairs)?))
                    }
                    (Some(classes::IMMUTABLE_LIST), &[list]) if unfilled && unset => {
                        match self.value(list)? {
                            Value::List(items) => Ok(Value::List(items)),
                            _ => Err(self.unexpected(id)),
                        }
                    }
                    (Some((module, _)), &[text])
                        if unfilled && unset && module.starts_with("nnx.nn.enum.") =>
                    {
                        match self.value(text)? {
                            Value::Str(text) => Ok(Value::Str(text)),
                            _ => Err(self.unexpected(id)),
                        }
                    }
                    _ => Err(self.unexpected(id)),
                }
            }
            Call::New { class, args }
                if unfilled
                    && self.graph.sequence(args).is_some_and(<[_]>::is_empty)
                    && self.graph.global(class) == Some(classes::FROZEN_METRICS) =>
            {
                self.frozen_metrics(id, object.state)
            }
            _ => Err(self.unexpected(id)),
        }
    }

    /// The state of a `_FrozenMetrics` is the pair `(None, {'_items': …, '_values': {…}})`, which
    /// holds the metrics twice: as a tuple of pairs and as a dict.
    fn frozen_metrics(&mut self, id: NodeId, state: Option<NodeId>) -> Result<Value> {
        let slots = state
            .and_then(|state| self.graph.sequence(state))
            .and_then(|pair| match pair {
                [none, slots] if self.graph.is_none(*none) => Some(*slots),
                _ => None,
            })
            .ok_or_else(|| self.unexpected(id))?;
        let part = |name| {
            self.graph
                .get(slots, name)
                .ok_or_else(|| self.unexpected(id))
        };
        let (items, values) = (part("_items")?, part("_values")?);
        let (Value::Tuple(items), Value::Map(values)) = (self.value(items)?, self.value(values)?)
        else {
            return Err(self.unexpected(id));
        };
        let pairs = values
            .iter()
            .map(|(name, value)| Value::Tuple(vec![name.into(), value.clone()]));
        if !items.iter().cloned().eq(pairs) {
            return Err(Error::malformed(
                "the two copies of a record's metrics differ from each other",
            ));
        }
        Ok(Value::Map(values))
    }

    fn values(&mut self, items: &[NodeId]) -> Result<Vec<Value>> {
        items.iter().map(|&item| self.value(item)).collect()
    }

    fn state(&mut self, pairs: &[(NodeId, NodeId)]) -> Result<State> {
        let mut state = State::new();
        for &(key, value) in pairs {
            let name = self.graph.text(key).ok_or_else(|| {
                Error::unsupported(format!(
                    "a configuration's keys must be texts, got {}",
                    self.graph.describe(key)
                ))
            })?;
            self.spend(name.len() as u64 / TEXT_BYTES_PER_VALUE)?;
            state.insert(name, self.value(value)?);
        }
        Ok(state)
    }

    #[cold]
    fn unexpected(&self, id: NodeId) -> Error {
        Error::malformed(format!(
            "a configuration must be plain data, got {}",
            self.graph.describe(id)
        ))
    }
}

/// An integer of up to sixteen bytes, two's complement, little-endian.
fn big_int(bytes: &[u8]) -> Result<i128> {
    let negative = bytes.last().is_some_and(|&byte| byte >= 0x80);
    let mut full = [if negative { 0xff } else { 0 }; 16];
    full.get_mut(..bytes.len())
        .ok_or_else(|| Error::unsupported("an integer of more than 128 bits"))?
        .copy_from_slice(bytes);
    Ok(i128::from_le_bytes(full))
}

/// Adds a value to a graph. Texts become interned strings, as the constants are that
/// configurations are mostly made of.
pub(super) fn node(builder: &mut TorchBuilder, value: &Value) -> NodeId {
    match value {
        Value::None => builder.none(),
        Value::Bool(value) => builder.bool(*value),
        Value::Int(value) => builder.big_int(*value),
        Value::Float(value) => builder.float(*value),
        Value::Str(text) => builder.interned(text),
        Value::List(items) => {
            let items = items.iter().map(|item| node(builder, item)).collect();
            builder.list(items)
        }
        Value::Tuple(items) => {
            let items = items.iter().map(|item| node(builder, item)).collect();
            builder.tuple(items)
        }
        Value::Map(state) => dict(builder, state),
    }
}

/// [`node`] for a mapping.
pub(super) fn dict(builder: &mut TorchBuilder, state: &State) -> NodeId {
    let pairs = state
        .iter()
        .map(|(key, value)| (builder.interned(key), node(builder, value)))
        .collect();
    builder.dict(pairs)
}
