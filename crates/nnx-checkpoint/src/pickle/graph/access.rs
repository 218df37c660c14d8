//! Objects as the types that a reader of checkpoints expects.

use std::borrow::Cow;

use super::{Call, Change, Graph, Node, NodeId, Object};

impl Graph {
    /// The text, if the object is one (without lone surrogates). A byte string of Python 2 is one
    /// when it is UTF-8, as `torch.load` has it.
    pub fn text(&self, id: NodeId) -> Option<&str> {
        match self.node(id) {
            Node::Str(text) => text.as_str(),
            Node::ByteString(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The integer, if the object is one that fits 64 bits. `True` is none.
    pub fn int(&self, id: NodeId) -> Option<i64> {
        match self.node(id) {
            Node::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The truth value, if the object is `True` or `False`.
    pub fn bool(&self, id: NodeId) -> Option<bool> {
        match self.node(id) {
            Node::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The float, if the object is one. An integer is none.
    pub fn float(&self, id: NodeId) -> Option<f64> {
        match self.node(id) {
            Node::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether the object is `None`.
    pub fn is_none(&self, id: NodeId) -> bool {
        matches!(self.node(id), Node::None)
    }

    /// The bytes, if the object is `bytes`, a `bytearray` or a byte string of Python 2, also where
    /// an old protocol spells `bytes` as `_codecs.encode(text, 'latin1')`.
    pub fn binary(&self, id: NodeId) -> Option<Cow<'_, [u8]>> {
        match self.node(id) {
            Node::Bytes(bytes) | Node::ByteArray(bytes) | Node::ByteString(bytes) => {
                Some(Cow::Borrowed(bytes))
            }
            Node::Object(_) => match self.reduce(id)? {
                (("_codecs", "encode"), &[text, codec])
                    if matches!(self.text(codec)?, "latin1" | "latin-1") =>
                {
                    let latin1 = self.text(text)?.chars().map(u8::try_from);
                    latin1.collect::<Result<Vec<u8>, _>>().ok().map(Cow::Owned)
                }
                // `bytes()` is how protocol 2 spells no bytes at all.
                (("builtins" | "__builtin__", "bytes"), []) => Some(Cow::default()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Module and name, if the object is a class or function.
    pub fn global(&self, id: NodeId) -> Option<(&str, &str)> {
        match self.node(id) {
            Node::Global { module, name } => Some((module, name)),
            _ => None,
        }
    }

    /// The members, if the object is a tuple or a list.
    pub fn sequence(&self, id: NodeId) -> Option<&[NodeId]> {
        match self.node(id) {
            Node::Tuple(items) => Some(items),
            Node::List(items) => Some(items),
            _ => None,
        }
    }

    /// The pairs of a dict, or those that an object was filled with key by key (an `OrderedDict`,
    /// say); in insertion order, a repeated key repeated.
    pub fn dict_pairs(&self, id: NodeId) -> Option<&[(NodeId, NodeId)]> {
        match self.node(id) {
            Node::Dict(pairs) => Some(pairs),
            Node::Object(object) => Some(&object.pairs),
            _ => None,
        }
    }

    /// The value of a text key in [`dict_pairs`](Self::dict_pairs): the last one, where the key is
    /// repeated, as in Python.
    pub fn get(&self, id: NodeId, key: &str) -> Option<NodeId> {
        self.dict_pairs(id)?
            .iter()
            .rev()
            .find(|pair| self.text(pair.0) == Some(key))
            .map(|pair| pair.1)
    }

    /// The object that a call would have made, if it is one.
    pub fn object(&self, id: NodeId) -> Option<&Object> {
        match self.node(id) {
            Node::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The function and its arguments, if the object is the result of a call of `REDUCE`.
    pub(crate) fn reduce(&self, id: NodeId) -> Option<((&str, &str), &[NodeId])> {
        match self.object(id)?.call {
            Call::Reduce { callable, args } => Some((self.global(callable)?, self.sequence(args)?)),
            _ => None,
        }
    }

    /// The persistent id, if the object lives outside the pickle.
    pub fn persistent(&self, id: NodeId) -> Option<NodeId> {
        match self.node(id) {
            Node::Persistent(pid) => Some(*pid),
            _ => None,
        }
    }

    /// The changes of an object after its first `BUILD`: none, for nearly all.
    pub fn changes(&self, id: NodeId) -> &[Change] {
        self.extras.get(&id).map_or(&[], |extra| &extra.changes)
    }
}
