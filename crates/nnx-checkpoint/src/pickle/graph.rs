//! The object graph that a pickle describes.

use std::num::NonZeroU32;

mod access;
mod copy;
mod describe;
mod node_map;
mod walk;

pub(crate) use node_map::NodeMap;

/// The offset of objects that no pickle byte made.
const NO_OFFSET: u64 = u64::MAX;

/// One object of a [`Graph`]. Two references to one object are two equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(NonZeroU32);

impl NodeId {
    /// The id of the first object of every graph.
    const FIRST: Self = Self(NonZeroU32::MIN);

    /// The object's place in the order in which they were made, from 0.
    pub(crate) fn index(self) -> usize {
        (self.0.get() as usize).saturating_sub(1)
    }

    /// The id of the object at that place, if a graph can be so large.
    fn from_index(index: usize) -> Option<Self> {
        u32::try_from(index)
            .ok()
            .and_then(|index| NonZeroU32::MIN.checked_add(index))
            .map(Self)
    }
}

/// The objects of one pickle and how they refer to each other. Identity is kept: an object that
/// Python shared is one node, so an unchanged graph pickles back to the same bytes, and cycles are
/// legal.
///
/// Every object that an opcode made stays in the graph, even one that the pickle itself threw away
/// again (`POP`) and one that the [`root`](Self::root) does not reach: [`ids`](Self::ids) gives
/// everything that a file would have made.
#[derive(Clone, Debug)]
pub struct Graph {
    nodes: Vec<Node>,
    offsets: Vec<u64>,
    extras: NodeMap<Extra>,
    root: NodeId,
    protocol: u8,
}

impl Graph {
    /// A graph of one node, `None`, to be filled by [`push`](Self::push) and written in that
    /// protocol.
    pub fn new(protocol: u8) -> Self {
        Self {
            nodes: vec![Node::None],
            offsets: vec![NO_OFFSET],
            extras: NodeMap::default(),
            root: NodeId::FIRST,
            protocol,
        }
    }

    /// A graph of no node at all, with room for so many, for the reader to fill before anyone sees
    /// it.
    pub(super) fn with_capacity(nodes: usize) -> Self {
        Self {
            nodes: Vec::with_capacity(nodes),
            offsets: Vec::with_capacity(nodes),
            extras: NodeMap::default(),
            root: NodeId::FIRST,
            protocol: 0,
        }
    }

    /// The rare facts about an object, if there are any.
    pub(super) fn extra(&self, id: NodeId) -> Option<&Extra> {
        self.extras.get(&id)
    }

    /// The rare facts about an object, to be added to.
    pub(super) fn extra_mut(&mut self, id: NodeId) -> &mut Extra {
        self.extras.entry(id).or_default()
    }

    /// Adds an object that no pickle byte made.
    ///
    /// # Panics
    /// When the graph holds `u32::MAX` nodes; the reader stops before that.
    pub fn push(&mut self, node: Node) -> NodeId {
        self.push_at(node, NO_OFFSET)
    }

    /// Adds an object that the opcode at `offset` made.
    #[expect(
        clippy::expect_used,
        reason = "documented; the reader's limit is far below"
    )]
    pub(crate) fn push_at(&mut self, node: Node, offset: u64) -> NodeId {
        let id = NodeId::from_index(self.nodes.len()).expect("fewer than u32::MAX nodes");
        self.nodes.push(node);
        self.offsets.push(offset);
        id
    }

    /// The object that the pickle is of.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// Makes an object the root.
    pub fn set_root(&mut self, root: NodeId) {
        self.root = root;
    }

    /// The protocol that the pickle was written in, or is to be written in.
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Makes the graph one to be written in that protocol.
    pub fn set_protocol(&mut self, protocol: u8) {
        self.protocol = protocol;
    }

    /// Every object, in the order in which they were made.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).filter_map(NodeId::from_index)
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no object; never so, a graph has at least one.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The object of that id.
    ///
    /// # Panics
    /// When the id comes from another graph that is larger.
    #[expect(
        clippy::indexing_slicing,
        reason = "ids are made by this graph alone; documented"
    )]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The object of that id, to be changed.
    ///
    /// # Panics
    /// When the id comes from another graph that is larger.
    #[expect(
        clippy::indexing_slicing,
        reason = "ids are made by this graph alone; documented"
    )]
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }

    /// The byte of the pickle whose opcode made the object, if one did.
    pub fn offset(&self, id: NodeId) -> Option<u64> {
        self.offsets
            .get(id.index())
            .copied()
            .filter(|&offset| offset != NO_OFFSET)
    }
}

/// Rare additions, kept beside the nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Extra {
    /// The strings from which `STACK_GLOBAL` made a global: they may be shared with others.
    pub(super) names: Option<(NodeId, NodeId)>,
    /// Calls whose result was thrown away in favour of this object, which they contain; the last
    /// one is the outermost.
    pub(super) discarded: Vec<Call>,
    /// Changes of an object after its first `BUILD`.
    pub(super) changes: Vec<Change>,
}

/// A change that a pickle would make to a complete object after its first `BUILD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A further `BUILD`, with that state.
    Build(NodeId),
    /// `setter(object, state)`, result dropped: the sixth member of a `__reduce__` result.
    Call {
        /// The callable.
        setter: NodeId,
        /// Its second argument.
        state: NodeId,
    },
}

/// An object of the graph.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer that fits 64 bits.
    Int(i64),
    /// Any other integer: two's complement, little-endian, no superfluous sign byte.
    BigInt(Box<[u8]>),
    /// A float.
    Float(f64),
    /// A text.
    Str(Text),
    /// A Python-2 byte string (opcodes `STRING`, `BINSTRING`, `SHORT_BINSTRING`).
    ByteString(Box<[u8]>),
    /// `bytes` (protocol 3 and later; earlier ones spell them as a call of `_codecs.encode`).
    Bytes(Box<[u8]>),
    /// `bytearray` (protocol 5).
    ByteArray(Box<[u8]>),
    /// A tuple.
    Tuple(Box<[NodeId]>),
    /// A list.
    List(Vec<NodeId>),
    /// A dict, in insertion order as the pickle filled it; a repeated key stays repeated.
    Dict(Vec<(NodeId, NodeId)>),
    /// A set (protocol 4).
    Set(Vec<NodeId>),
    /// A frozenset (protocol 4).
    FrozenSet(Box<[NodeId]>),
    /// A class or function, by name only.
    Global {
        /// The module.
        module: Box<str>,
        /// The name within the module, dotted for nested ones.
        name: Box<str>,
    },
    /// An entry of the `copyreg` extension registry, which no file can carry with it.
    Extension(u32),
    /// An object that lives outside the pickle, named by its persistent id.
    Persistent(NodeId),
    /// The result that a call would have; nothing was called.
    Object(Box<Object>),
}

/// An object that Python would make by a call and then fill.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// The call that would make it.
    pub call: Call,
    /// The items that `APPEND` and `APPENDS` added, in order.
    pub items: Vec<NodeId>,
    /// The pairs that `SETITEM` and `SETITEMS` added, in order.
    pub pairs: Vec<(NodeId, NodeId)>,
    /// The state that `BUILD` would hand to `__setstate__` (or store as attributes).
    pub state: Option<NodeId>,
}

/// The ways in which a pickle spells the making of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// `REDUCE`: `callable(*args)`.
    Reduce {
        /// The callable.
        callable: NodeId,
        /// A tuple.
        args: NodeId,
    },
    /// `NEWOBJ`: `class.__new__(class, *args)`.
    New {
        /// The class.
        class: NodeId,
        /// A tuple.
        args: NodeId,
    },
    /// `NEWOBJ_EX`: `class.__new__(class, *args, **kwargs)`.
    NewEx {
        /// The class.
        class: NodeId,
        /// A tuple.
        args: NodeId,
        /// A dict.
        kwargs: NodeId,
    },
    /// `OBJ` and `INST`: `class(*args)`, protocols 0 and 1.
    Instance {
        /// The class.
        class: NodeId,
        /// The arguments.
        args: Box<[NodeId]>,
    },
}

/// A Python string. Python's may hold lone surrogates, which UTF-8 cannot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Text {
    /// An ordinary string.
    Utf8(Box<str>),
    /// A string with lone surrogates, in UTF-8's generalised form (`surrogatepass`).
    Surrogates(Box<[u8]>),
}

impl Text {
    /// The text, unless it holds lone surrogates.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Utf8(text) => Some(text),
            Self::Surrogates(_) => None,
        }
    }

    /// The bytes that a pickle stores.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Utf8(text) => text.as_bytes(),
            Self::Surrogates(bytes) => bytes,
        }
    }
}
