//! Walking a graph.

use std::collections::HashSet;

use super::{Call, Change, Graph, Node, NodeId, Object};

impl Graph {
    /// Every object with its id, in the order of making.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.ids().map(|id| (id, self.node(id)))
    }

    /// Every reference to an object outside the pickle, with the persistent id that names it, in
    /// the order in which the pickle makes them.
    pub fn persistent_ids(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        self.nodes().filter_map(|(id, node)| match node {
            Node::Persistent(pid) => Some((id, *pid)),
            _ => None,
        })
    }

    /// The object and everything it refers to, directly or not, each once.
    pub fn reachable(&self, id: NodeId) -> Vec<NodeId> {
        self.reachable_unless(id, |_| false)
    }

    /// [`reachable`](Self::reachable) without the objects for which `is_known` is true, and those
    /// that only they refer to.
    pub(crate) fn reachable_unless(
        &self,
        id: NodeId,
        is_known: impl Fn(NodeId) -> bool,
    ) -> Vec<NodeId> {
        if is_known(id) {
            return Vec::new();
        }
        let mut seen = HashSet::from([id]);
        let mut found = Vec::new();
        let mut waiting = vec![id];
        while let Some(id) = waiting.pop() {
            found.push(id);
            let first = waiting.len();
            self.each_member(id, |member| {
                if !is_known(member) && seen.insert(member) {
                    waiting.push(member);
                }
            });
            // The last one pushed is the next one popped: turn them round to keep their order.
            if let Some(members) = waiting.get_mut(first..) {
                members.reverse();
            }
        }
        found
    }

    /// Calls `visit` with every object that one object refers to directly, in the order of the
    /// pickle.
    pub fn each_member(&self, id: NodeId, mut visit: impl FnMut(NodeId)) {
        match self.node(id) {
            Node::Tuple(items) | Node::FrozenSet(items) => {
                items.iter().copied().for_each(&mut visit);
            }
            Node::List(items) | Node::Set(items) => items.iter().copied().for_each(&mut visit),
            Node::Dict(pairs) => each_of(pairs, &mut visit),
            Node::Persistent(pid) => visit(*pid),
            Node::Object(object) => {
                let Object {
                    call,
                    items,
                    pairs,
                    state,
                } = &**object;
                match call {
                    Call::Reduce {
                        callable: first,
                        args,
                    }
                    | Call::New { class: first, args } => {
                        visit(*first);
                        visit(*args);
                    }
                    Call::NewEx {
                        class,
                        args,
                        kwargs,
                    } => {
                        visit(*class);
                        visit(*args);
                        visit(*kwargs);
                    }
                    Call::Instance { class, args } => {
                        visit(*class);
                        args.iter().copied().for_each(&mut visit);
                    }
                }
                items.iter().copied().for_each(&mut visit);
                each_of(pairs, &mut visit);
                if let Some(state) = state {
                    visit(*state);
                }
            }
            _ => {}
        }
        for &change in self.changes(id) {
            match change {
                Change::Build(state) => visit(state),
                Change::Call { setter, state } => {
                    visit(setter);
                    visit(state);
                }
            }
        }
    }
}

fn each_of(pairs: &[(NodeId, NodeId)], mut visit: impl FnMut(NodeId)) {
    for &(key, value) in pairs {
        visit(key);
        visit(value);
    }
}
