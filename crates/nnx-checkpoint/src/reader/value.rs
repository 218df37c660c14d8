//! Values that are no tensors, with their types, such as the configuration of a training.
//!
//! Nothing is called to get them. For an object that Python would make by a call of a class or
//! function, the value is the name of the class or function with its arguments. The attributes of
//! an object are those in its pickle.

use crate::pickle::{Call, Graph, Node, NodeId, Text};
use crate::torch::TorchObject;

use super::children;

/// Characters of a text that are kept.
const MAX_CHARACTERS: usize = 2000;
/// Members of one container that are kept.
const MAX_MEMBERS: usize = 200;
/// Containers within one another; deeper ones are described in words.
const MAX_DEPTH: usize = 16;
/// Values within one value, all levels together; the others are left out and counted.
const MAX_VALUES: usize = 2000;

/// A value of a pickle that is no tensor, as far as it is plain.
///
/// Long texts and containers are cut; each says how many characters or members it has.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PickledValue {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer of up to 128 bits.
    Int(i128),
    /// A float.
    Float(f64),
    /// A text, or its beginning.
    Text {
        /// The text; of a long one, the first 2,000 characters.
        text: String,
        /// Characters of the whole text.
        characters: usize,
    },
    /// A list, a tuple or a set.
    Sequence {
        /// The class in Python: `list`, `tuple`, `set`, `frozenset`.
        class: &'static str,
        /// The first items.
        items: Vec<PickledValue>,
        /// How many items there are.
        count: usize,
    },
    /// A mapping, with its keys as texts.
    Mapping {
        /// The first pairs.
        pairs: Vec<(String, PickledValue)>,
        /// How many pairs there are.
        count: usize,
    },
    /// A path of `pathlib`.
    Path(String),
    /// A date, a time or a duration, as Python's `str` shows it; `datetime.datetime` in the form of
    /// ISO 8601.
    Date(String),
    /// A class or function, by its name with the module.
    Global(String),
    /// A member of an enumeration, or another attribute, that was pickled by name.
    Attribute {
        /// The class.
        class: String,
        /// The name within it.
        name: String,
    },
    /// The result of a class or function with its arguments; a member of an enumeration is its class with its
    /// value.
    Call {
        /// The class or function.
        callable: String,
        /// The first arguments.
        args: Vec<PickledValue>,
    },
    /// An object by its class and attributes.
    Object {
        /// The class.
        class: String,
        /// The first attributes.
        attributes: Vec<(String, PickledValue)>,
        /// How many attributes there are.
        count: usize,
    },
    /// Anything else in words, such as ``a float32 tensor of shape [3]``.
    Other(String),
}

/// The value of a node, if it is plain, or made of plain values.
pub(super) fn value(object: &TorchObject, id: NodeId) -> Option<PickledValue> {
    let mut reader = ValueReader {
        object,
        graph: object.graph(),
        left: MAX_VALUES,
    };
    match reader.value(id, 0) {
        PickledValue::Other(_) => None,
        value => Some(value),
    }
}

struct ValueReader<'a> {
    object: &'a TorchObject,
    graph: &'a Graph,
    /// How many more values may be kept.
    left: usize,
}

impl ValueReader<'_> {
    fn value(&mut self, id: NodeId, depth: usize) -> PickledValue {
        self.left = self.left.saturating_sub(1);
        self.plain(id, depth)
            .unwrap_or_else(|| PickledValue::Other(self.in_words(id)))
    }

    fn in_words(&self, id: NodeId) -> String {
        match self.object.tensor_info(id) {
            Ok(Some(info)) => format!("a {} tensor of shape {:?}", info.dtype, info.shape),
            Err(_) => "a tensor".to_owned(),
            Ok(None) => super::describe::describe(self.object, id),
        }
    }

    /// A value, unless it is one that only words can tell.
    fn plain(&mut self, id: NodeId, depth: usize) -> Option<PickledValue> {
        let id = children::unwrapped(self.graph, id);
        let is_container = !children::is_plain(self.graph.node(id));
        if is_container && depth >= MAX_DEPTH {
            return None;
        }
        Some(match self.graph.node(id) {
            Node::None => PickledValue::None,
            Node::Bool(value) => PickledValue::Bool(*value),
            Node::Int(value) => PickledValue::Int((*value).into()),
            Node::BigInt(bytes) => PickledValue::Int(big_int(bytes)?),
            Node::Float(value) => PickledValue::Float(*value),
            Node::Str(Text::Utf8(text)) => text_value(text),
            Node::ByteString(bytes) => text_value(std::str::from_utf8(bytes).ok()?),
            Node::Global { module, name } => {
                PickledValue::Global(crate::error::shown_path(module, name))
            }
            Node::List(items) => self.sequence("list", items, depth),
            Node::Tuple(items) => self.sequence("tuple", items, depth),
            Node::Set(items) => self.sequence("set", items, depth),
            Node::FrozenSet(items) => self.sequence("frozenset", items, depth),
            Node::Dict(pairs) => {
                let (pairs, count) = self.pairs(pairs, depth);
                PickledValue::Mapping { pairs, count }
            }
            Node::Object(_) => return self.made(id, depth),
            Node::Str(_)
            | Node::Bytes(_)
            | Node::ByteArray(_)
            | Node::Extension(_)
            | Node::Persistent(_) => return None,
        })
    }

    fn sequence(&mut self, class: &'static str, items: &[NodeId], depth: usize) -> PickledValue {
        PickledValue::Sequence {
            class,
            items: self.items(items, depth),
            count: items.len(),
        }
    }

    fn items(&mut self, items: &[NodeId], depth: usize) -> Vec<PickledValue> {
        let mut values = Vec::new();
        for &item in items.iter().take(MAX_MEMBERS) {
            if self.left == 0 {
                break;
            }
            values.push(self.value(item, depth.saturating_add(1)));
        }
        values
    }

    fn pairs(
        &mut self,
        pairs: &[(NodeId, NodeId)],
        depth: usize,
    ) -> (Vec<(String, PickledValue)>, usize) {
        // Many objects may share one long mapping, and each looks through it anew.
        self.left = self.left.saturating_sub(pairs.len() / MAX_MEMBERS);
        let mut values = Vec::new();
        for (index, &(key, item)) in pairs.iter().take(MAX_MEMBERS).enumerate() {
            if self.left == 0 {
                break;
            }
            let key = children::key(self.graph, key, index);
            values.push((shortened(&key), self.value(item, depth.saturating_add(1))));
        }
        (values, pairs.len())
    }

    /// The result of a call.
    fn made(&mut self, id: NodeId, depth: usize) -> Option<PickledValue> {
        let graph = self.graph;
        if !matches!(self.object.tensor_info(id), Ok(None)) {
            return None;
        }
        let object = graph.object(id)?;
        if let Some(pairs) = children::pairs(graph, id) {
            let (pairs, count) = self.pairs(&pairs, depth);
            return Some(PickledValue::Mapping { pairs, count });
        }
        let (module, name) = children::class(graph, object)?;
        let class = crate::error::shown_path(module, name);
        if !object.items.is_empty() {
            return None;
        }
        if let Some(state) = object.state {
            let pairs = attributes(graph, state)?;
            let (attributes, count) = self.pairs(&pairs, depth);
            return Some(PickledValue::Object {
                class,
                attributes,
                count,
            });
        }
        let args: &[NodeId] = match &object.call {
            Call::Reduce { args, .. } | Call::New { args, .. } => graph.sequence(*args)?,
            Call::NewEx { .. } => return None,
            Call::Instance { args, .. } => args,
        };
        match (module, name, args) {
            ("builtins" | "__builtin__", "set", &[items]) => {
                Some(self.sequence("set", graph.sequence(items)?, depth))
            }
            ("builtins" | "__builtin__", "frozenset", &[items]) => {
                Some(self.sequence("frozenset", graph.sequence(items)?, depth))
            }
            ("builtins" | "__builtin__", "getattr", &[of, attribute]) => {
                let (module, class) = graph.global(of)?;
                Some(PickledValue::Attribute {
                    class: crate::error::shown_path(module, class),
                    name: shortened(graph.text(attribute)?),
                })
            }
            ("pathlib" | "pathlib._local", kind, parts) => path(graph, kind, parts),
            ("datetime", kind, args) => date(graph, kind, args),
            // Made by `__new__` alone, without attributes.
            _ if matches!(object.call, Call::New { .. }) && args.is_empty() => {
                Some(PickledValue::Object {
                    class,
                    attributes: Vec::new(),
                    count: 0,
                })
            }
            _ => {
                let args = self.items(args, depth);
                let is_plain = !args.iter().any(|arg| matches!(arg, PickledValue::Other(_)));
                is_plain.then_some(PickledValue::Call {
                    callable: class,
                    args,
                })
            }
        }
    }
}

/// The attributes that `BUILD` sets: a mapping of them, or a pair of two such, the second for slots.
pub(super) fn attributes(graph: &Graph, state: NodeId) -> Option<Vec<(NodeId, NodeId)>> {
    if let Some(pairs) = children::pairs(graph, state) {
        return Some(pairs);
    }
    let &[attributes, slots] = graph.sequence(state)? else {
        return None;
    };
    let mut all = Vec::new();
    for part in [attributes, slots] {
        if !graph.is_none(part) {
            all.extend(children::pairs(graph, part)?);
        }
    }
    Some(all)
}

fn text_value(text: &str) -> PickledValue {
    PickledValue::Text {
        text: shortened(text),
        characters: text.chars().count(),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_CHARACTERS).collect()
}

/// An integer of up to sixteen bytes, two's complement, little-endian.
fn big_int(bytes: &[u8]) -> Option<i128> {
    let negative = bytes.last().is_some_and(|&byte| byte >= 0x80);
    let mut full = [if negative { 0xff } else { 0 }; 16];
    full.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i128::from_le_bytes(full))
}

/// A path of its parts, as `pathlib` pickles it: `PosixPath('/', 'home', 'x')`.
fn path(graph: &Graph, class: &str, parts: &[NodeId]) -> Option<PickledValue> {
    let separator = if class.contains("Windows") { '\\' } else { '/' };
    let mut path = String::new();
    for &part in parts {
        if !path.is_empty() && !path.ends_with(separator) {
            path.push(separator);
        }
        path.push_str(graph.text(part)?);
    }
    if path.is_empty() {
        path.push('.');
    }
    Some(PickledValue::Path(shortened(&path)))
}

/// A date, a time or a duration: its bytes, or its numbers. One with a time zone is told by its call.
fn date(graph: &Graph, class: &str, args: &[NodeId]) -> Option<PickledValue> {
    if let ("timedelta", &[days, seconds, microseconds]) = (class, args) {
        let numbers = [days, seconds, microseconds].map(|id| graph.int(id));
        let [Some(days), Some(seconds), Some(microseconds)] = numbers else {
            return None;
        };
        return Some(PickledValue::Date(duration(days, seconds, microseconds)));
    }
    let bytes = graph.binary(*args.first()?)?;
    if args.len() != 1 {
        return None;
    }
    let text = match (class, &*bytes) {
        ("date", &[high, low, month, day]) => day_text(high, low, month, day),
        ("time", &[hour, minute, second, a, b, c]) => time_text([hour, minute, second], [a, b, c]),
        ("datetime", &[high, low, month, day, hour, minute, second, a, b, c]) => format!(
            "{}T{}",
            day_text(high, low, month, day),
            time_text([hour, minute, second], [a, b, c])
        ),
        _ => return None,
    };
    Some(PickledValue::Date(text))
}

fn day_text(high: u8, low: u8, month: u8, day: u8) -> String {
    // The high bit of the month says which of two times a clock that is put back shows.
    format!(
        "{:04}-{:02}-{day:02}",
        u16::from_be_bytes([high, low]),
        month & 0x7f
    )
}

fn time_text([hour, minute, second]: [u8; 3], [a, b, c]: [u8; 3]) -> String {
    let whole = format!("{:02}:{minute:02}:{second:02}", hour & 0x7f);
    match u32::from_be_bytes([0, a, b, c]) {
        0 => whole,
        microseconds => format!("{whole}.{microseconds:06}"),
    }
}

/// As `str(timedelta)`: `-1 day, 3:00:00.000005`.
fn duration(days: i64, seconds: i64, microseconds: i64) -> String {
    let front = match days {
        0 => String::new(),
        1 | -1 => format!("{days} day, "),
        days => format!("{days} days, "),
    };
    let (minutes, second) = (seconds.div_euclid(60), seconds.rem_euclid(60));
    let (hour, minute) = (minutes.div_euclid(60), minutes.rem_euclid(60));
    let whole = format!("{front}{hour}:{minute:02}:{second:02}");
    match microseconds {
        0 => whole,
        microseconds => format!("{whole}.{microseconds:06}"),
    }
}
