//! Copies of parts of a graph.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::{Call, Change, Extra, Graph, Node, NodeId, Object};

impl Graph {
    /// Copies an object and all that it refers to into another graph and returns its id there.
    ///
    /// Shared objects stay shared and cycles stay cycles. `map` says which object became which:
    /// start with an empty one, and pass the same one again to copy further objects of the same
    /// graph so that they share with the earlier ones.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use nnx_checkpoint::pickle::{Graph, Node};
    ///
    /// let mut from = Graph::new(2);
    /// let inner = from.push(Node::List(Vec::new()));
    /// let outer = from.push(Node::Tuple(Box::new([inner, inner])));
    /// let mut to = Graph::new(2);
    /// let copy = from.copy_into(outer, &mut to, &mut HashMap::new());
    /// let [a, b] = to.sequence(copy).unwrap() else { panic!() };
    /// assert_eq!(a, b);
    /// ```
    ///
    /// # Panics
    /// When the target would hold more than `u32::MAX` nodes.
    pub fn copy_into(
        &self,
        id: NodeId,
        target: &mut Graph,
        map: &mut HashMap<NodeId, NodeId>,
    ) -> NodeId {
        let mut copy = Copy {
            target,
            map,
            pending: Vec::new(),
        };
        let root = copy.id(id);
        while let Some((from, to)) = copy.pending.pop() {
            let node = copy.node(self.node(from));
            *copy.target.node_mut(to) = node;
            if let Some(extra) = self.extras.get(&from) {
                let extra = copy.extra(extra);
                copy.target.extras.insert(to, extra);
            }
        }
        root
    }
}

struct Copy<'a> {
    target: &'a mut Graph,
    map: &'a mut HashMap<NodeId, NodeId>,
    /// Objects that have an id in the target but not yet their content.
    pending: Vec<(NodeId, NodeId)>,
}

impl Copy<'_> {
    fn id(&mut self, id: NodeId) -> NodeId {
        match self.map.entry(id) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(vacant) => {
                let to = *vacant.insert(self.target.push(Node::None));
                self.pending.push((id, to));
                to
            }
        }
    }

    fn ids(&mut self, ids: &[NodeId]) -> Vec<NodeId> {
        ids.iter().map(|&id| self.id(id)).collect()
    }

    fn pairs(&mut self, pairs: &[(NodeId, NodeId)]) -> Vec<(NodeId, NodeId)> {
        pairs
            .iter()
            .map(|&(key, value)| (self.id(key), self.id(value)))
            .collect()
    }

    fn node(&mut self, node: &Node) -> Node {
        match node {
            Node::Tuple(items) => Node::Tuple(self.ids(items).into()),
            Node::List(items) => Node::List(self.ids(items)),
            Node::Dict(pairs) => Node::Dict(self.pairs(pairs)),
            Node::Set(items) => Node::Set(self.ids(items)),
            Node::FrozenSet(items) => Node::FrozenSet(self.ids(items).into()),
            Node::Persistent(pid) => Node::Persistent(self.id(*pid)),
            Node::Object(object) => Node::Object(Box::new(Object {
                call: self.call(&object.call),
                items: self.ids(&object.items),
                pairs: self.pairs(&object.pairs),
                state: object.state.map(|state| self.id(state)),
            })),
            Node::None
            | Node::Bool(_)
            | Node::Int(_)
            | Node::BigInt(_)
            | Node::Float(_)
            | Node::Str(_)
            | Node::ByteString(_)
            | Node::Bytes(_)
            | Node::ByteArray(_)
            | Node::Global { .. }
            | Node::Extension(_) => node.clone(),
        }
    }

    fn call(&mut self, call: &Call) -> Call {
        match call {
            Call::Reduce { callable, args } => Call::Reduce {
                callable: self.id(*callable),
                args: self.id(*args),
            },
            Call::New { class, args } => Call::New {
                class: self.id(*class),
                args: self.id(*args),
            },
            Call::NewEx {
                class,
                args,
                kwargs,
            } => Call::NewEx {
                class: self.id(*class),
                args: self.id(*args),
                kwargs: self.id(*kwargs),
            },
            Call::Instance { class, args } => Call::Instance {
                class: self.id(*class),
                args: self.ids(args).into(),
            },
        }
    }

    fn extra(&mut self, extra: &Extra) -> Extra {
        Extra {
            names: extra
                .names
                .map(|(module, name)| (self.id(module), self.id(name))),
            discarded: extra.discarded.iter().map(|call| self.call(call)).collect(),
            changes: extra
                .changes
                .iter()
                .map(|change| match *change {
                    Change::Build(state) => Change::Build(self.id(state)),
                    Change::Call { setter, state } => Change::Call {
                        setter: self.id(setter),
                        state: self.id(state),
                    },
                })
                .collect(),
        }
    }
}
