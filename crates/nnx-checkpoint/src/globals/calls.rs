//! Calls that are judged by their arguments: `getattr` and `functools.partial`.
//!
//! Python pickles a member of an enumeration, a function of PyTorch that is written in C++ or a
//! bound method as `getattr(class, "name")`, and a norm layer as `functools.partial(class, …)`.
//! Both functions can also lead to everything that Python can do, so a use is innocuous in one form
//! alone ([`Use::Sound`]), and everything else about them is dangerous.
//!
//! A sound use makes an object that no one calls: an attribute of a known class, or a known class
//! or function with plain values bound to it. That object may be stored, and may neither be called
//! nor filled, nor be an argument of a call that could do either.

use std::collections::HashSet;

use super::{SafetyLevel, dangerous, mutation};
use crate::pickle::{Call, Change, Graph, Node, NodeId, Object};

/// A function whose calls are judged by their arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    GetAttr,
    Partial,
}

impl Function {
    fn from_name(module: &str, name: &str) -> Option<Self> {
        match (module, name) {
            ("builtins" | "__builtin__", "getattr") => Some(Self::GetAttr),
            ("functools", "partial") => Some(Self::Partial),
            _ => None,
        }
    }

    fn from_node(graph: &Graph, id: NodeId) -> Option<Self> {
        let (module, name) = graph.global(id)?;
        Self::from_name(module, name)
    }
}

/// How a pickle uses one of these functions; the worst of its uses counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    /// Nothing but calls in the form that is innocuous.
    Sound,
    /// Calls of plain names and values that give no more than these name. Each name is judged on
    /// its own, but not the effect of a call of the result.
    Indirect,
    /// Anything else: the function itself as a value, attributes that lead to the interpreter.
    Hostile,
}

/// How a pickle uses the functions whose calls are judged by their arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JudgedCalls {
    getattr: Use,
    partial: Use,
}

impl JudgedCalls {
    /// Judges the uses in a graph, in which `names` has every class and function.
    pub(crate) fn new(graph: &Graph, mut names: impl Iterator<Item = NodeId>) -> Self {
        let mut judged = Self {
            getattr: Use::Sound,
            partial: Use::Sound,
        };
        let is_named = |id| Function::from_node(graph, id).is_some();
        if names.any(is_named) {
            judged.judge(graph);
        }
        judged
    }

    /// How the class or function is used, if it is one whose calls are judged.
    pub(crate) fn of_global(&self, module: &str, name: &str) -> Option<Use> {
        Function::from_name(module, name).map(|function| match function {
            Function::GetAttr => self.getattr,
            Function::Partial => self.partial,
        })
    }

    fn worsen(&mut self, function: Function, found: Use) {
        let worst = match function {
            Function::GetAttr => &mut self.getattr,
            Function::Partial => &mut self.partial,
        };
        *worst = found.max(*worst);
    }

    fn judge(&mut self, graph: &Graph) {
        let mut results = Vec::new();
        let mut called = HashSet::new();
        for (id, node) in graph.nodes() {
            let mut callable = None;
            if let Node::Object(object) = node
                && let Call::Reduce {
                    callable: id_of,
                    args,
                } = object.call
                && let Some(function) = Function::from_node(graph, id_of)
            {
                callable = Some(id_of);
                called.insert(id_of);
                results.push((function, id));
                self.worsen(function, judge_call(graph, function, id, object, args));
            }
            graph.each_member(id, |member| {
                // The callable comes first, and once.
                if callable.take_if(|callable| *callable == member).is_none()
                    && let Some(function) = Function::from_node(graph, member)
                {
                    self.worsen(function, Use::Hostile);
                }
            });
        }
        for id in graph.ids() {
            // The root of the pickle, or made and thrown away: no pickler does so.
            if let Some(function) = Function::from_node(graph, id)
                && !called.contains(&id)
            {
                self.worsen(function, Use::Hostile);
            }
        }
        let parents = Parents::new(graph);
        for function in [Function::GetAttr, Function::Partial] {
            let made = results.iter().filter(|(by, _)| *by == function);
            let made: HashSet<NodeId> = made.map(|(_, id)| *id).collect();
            if !made.is_empty() && !are_only_stored(graph, &parents, &made) {
                self.worsen(function, Use::Indirect);
            }
        }
    }
}

fn judge_call(graph: &Graph, function: Function, id: NodeId, object: &Object, args: NodeId) -> Use {
    let args = graph.sequence(args).unwrap_or_default();
    if !object.items.is_empty() || !object.pairs.is_empty() {
        return Use::Hostile;
    }
    match function {
        Function::GetAttr if object.state.is_some() || !graph.changes(id).is_empty() => {
            Use::Hostile
        }
        Function::GetAttr => judge_getattr(graph, args),
        Function::Partial => match args {
            [] => Use::Hostile,
            _ if graph.changes(id).is_empty() && is_sound_partial(graph, args, object.state) => {
                Use::Sound
            }
            _ => Use::Indirect,
        },
    }
}

/// `getattr(object, "name")`, perhaps with a default.
fn judge_getattr(graph: &Graph, args: &[NodeId]) -> Use {
    let (&[object, name] | &[object, name, _]) = args else {
        return Use::Hostile;
    };
    let Some(attribute) = graph.text(name).filter(|name| is_identifier(name)) else {
        return Use::Hostile;
    };
    // `__new__` is how protocols 2 and 3 make objects with keyword arguments.
    let is_internal = attribute.starts_with("__") && attribute != "__new__";
    match graph.node(object) {
        Node::Global { module, name } => {
            let path = format!("{name}.{attribute}");
            let is_zone = (&**module, &**name) == ZONE && attribute == ZONE_BY_NAME;
            let is_member = !attribute.starts_with('_')
                && SafetyLevel::of_global(module, name) == SafetyLevel::Innocuous
                && mutation::is_class(module, name);
            if is_internal || dangerous::is_dangerous(module, &path) {
                Use::Hostile
            } else if args.len() == 2 && (is_zone || is_member) {
                Use::Sound
            } else {
                Use::Indirect
            }
        }
        // An attribute of an attribute: one step more than any pickler takes.
        Node::Object(object)
            if matches!(object.call, Call::Reduce { callable, .. }
                if Function::from_node(graph, callable).is_some()) =>
        {
            Use::Hostile
        }
        Node::Object(_) if !is_internal && !dangerous::is_dangerous("", attribute) => Use::Indirect,
        _ => Use::Hostile,
    }
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `functools.partial(function, …)`, and the state that its pickle fills it with: function,
/// arguments, keyword arguments, attributes.
fn is_sound_partial(graph: &Graph, args: &[NodeId], state: Option<NodeId>) -> bool {
    let is_known = |id: NodeId| {
        let global = graph.global(id);
        global.is_some_and(|(module, name)| {
            SafetyLevel::of_global(module, name) == SafetyLevel::Innocuous
        })
    };
    let Some((&function, bound)) = args.split_first() else {
        return false;
    };
    if !is_known(function) || !bound.iter().all(|&id| is_plain(graph, id)) {
        return false;
    }
    let Some(state) = state else {
        return true;
    };
    let Node::Tuple(state) = graph.node(state) else {
        return false;
    };
    let &[function, args, keywords, attributes] = &**state else {
        return false;
    };
    let is_empty = |id| match graph.node(id) {
        Node::None => true,
        Node::Dict(pairs) => pairs.is_empty(),
        _ => false,
    };
    is_known(function)
        && matches!(graph.node(args), Node::Tuple(_))
        && is_plain(graph, args)
        && matches!(graph.node(keywords), Node::None | Node::Dict(_))
        && is_plain(graph, keywords)
        && is_empty(attributes)
}

/// Whether the object is made of numbers, texts and known classes and functions alone.
fn is_plain(graph: &Graph, id: NodeId) -> bool {
    graph
        .reachable(id)
        .into_iter()
        .all(|id| match graph.node(id) {
            Node::Global { module, name } => {
                SafetyLevel::of_global(module, name) == SafetyLevel::Innocuous
            }
            Node::Object(_) | Node::Persistent(_) | Node::Extension(_) => false,
            _ => true,
        })
}

/// The objects that refer to each object.
struct Parents(Vec<(NodeId, NodeId)>);

impl Parents {
    fn new(graph: &Graph) -> Self {
        let mut edges = Vec::new();
        for id in graph.ids() {
            graph.each_member(id, |member| edges.push((member, id)));
        }
        edges.sort_unstable();
        edges.dedup();
        Self(edges)
    }

    fn of_node(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let start = self.0.partition_point(|edge| edge.0 < id);
        let edges = self.0.get(start..).unwrap_or_default().iter();
        edges
            .take_while(move |edge| edge.0 == id)
            .map(|edge| edge.1)
    }
}

/// Whether nothing calls the objects, fills an object with one as its whole state, or hands one to
/// a call, by itself or within something else, that does more than to make a container.
fn are_only_stored(graph: &Graph, parents: &Parents, made: &HashSet<NodeId>) -> bool {
    let mut seen = made.clone();
    let mut waiting: Vec<NodeId> = made.iter().copied().collect();
    while let Some(id) = waiting.pop() {
        let is_made = made.contains(&id);
        for parent in parents.of_node(id) {
            // A time zone is data, which may be an argument in turn.
            if is_made && is_time_zone(graph, parent, id) {
                continue;
            }
            if !stores(graph, parent, id, is_made) {
                return false;
            }
            if seen.insert(parent) {
                waiting.push(parent);
            }
        }
    }
    true
}

/// Whether an object does no more with one that it refers to than to keep it.
fn stores(graph: &Graph, parent: NodeId, id: NodeId, is_made: bool) -> bool {
    let object = match graph.node(parent) {
        Node::Object(object) => object,
        Node::Persistent(_) => return false,
        _ => return true,
    };
    let (callable, is_argument) = match &object.call {
        Call::Reduce { callable, args } => (*callable, *args == id),
        Call::New { class, args } => (*class, *args == id),
        Call::NewEx {
            class,
            args,
            kwargs,
        } => (*class, *args == id || *kwargs == id),
        Call::Instance { class, args } => (*class, args.contains(&id)),
    };
    if callable == id || (is_argument && !makes_container(graph, callable)) {
        return false;
    }
    let is_state = |state: NodeId| is_made && state == id;
    !object.state.is_some_and(is_state)
        && graph.changes(parent).iter().all(|change| match *change {
            Change::Build(state) => !is_state(state),
            Change::Call { setter, state } => setter != id && state != id,
        })
}

/// The class of time zones, and the method by which their pickles make one of its name.
const ZONE: (&str, &str) = ("zoneinfo", "ZoneInfo");
const ZONE_BY_NAME: &str = "_unpickle";

/// Whether the parent is a time zone, made by a call of `getattr(ZoneInfo, "_unpickle")` with the
/// zone's name and whether it may come from a cache. Python looks for the name in its database.
fn is_time_zone(graph: &Graph, parent: NodeId, by: NodeId) -> bool {
    let Some(object) = graph.object(parent) else {
        return false;
    };
    let Call::Reduce { callable, args } = object.call else {
        return false;
    };
    let Some(&[name, from_cache]) = graph.sequence(args) else {
        return false;
    };
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_+-/".contains(&byte))
    };
    callable == by
        && gives_zones(graph, by)
        && graph.text(name).is_some_and(is_name)
        && (graph.bool(from_cache).is_some() || graph.int(from_cache).is_some())
        && object.items.is_empty()
        && object.pairs.is_empty()
        && object.state.is_none()
        && graph.changes(parent).is_empty()
}

/// Whether the object is `getattr(ZoneInfo, "_unpickle")`.
fn gives_zones(graph: &Graph, id: NodeId) -> bool {
    let args = graph.object(id).and_then(|object| match object.call {
        Call::Reduce { args, .. } => graph.sequence(args),
        _ => None,
    });
    matches!(args, Some(&[class, name])
        if graph.global(class) == Some(ZONE) && graph.text(name) == Some(ZONE_BY_NAME))
}

/// Whether a call of it keeps its arguments as members, and does not call them.
fn makes_container(graph: &Graph, callable: NodeId) -> bool {
    matches!(
        graph.global(callable),
        Some(
            ("collections", "OrderedDict" | "deque")
                | (
                    "builtins" | "__builtin__",
                    "dict" | "frozenset" | "list" | "set" | "tuple"
                )
        )
    )
}
