//! Objects that a pickle fills although it did not make them.
//!
//! A known class makes an object of its own, and filling that changes nothing else. A known function
//! may give back its argument instead, such as another function: whose attributes are set then, all
//! that runs in the process has to do with.

use bytes::Bytes;

use super::entry_path::EntryPath;
use super::scanner::Scanner;
use crate::globals::SafetyLevel;
use crate::pickle::{Call, Change, Graph, Node, NodeId, Object};

/// The name of a callable that is itself the result of a call.
const NAMELESS: (&str, &str) = ("a call's result", "__call__");
/// The name of a persistent id of the kind `module`, for which PyTorch compares sources.
const CLASS_BY_ID: (&str, &str) = ("torch.serialization", "persistent id `module`");

impl Scanner {
    /// Adds the callable whose result the object is, if the result is filled and may be something
    /// else than an object of its own.
    pub(super) fn mutation(
        &mut self,
        graph: &Graph,
        (id, object): (NodeId, &Object),
        offset: Option<u64>,
        place: &EntryPath,
    ) {
        let is_built = |change: &Change| matches!(change, Change::Build(_));
        let is_filled = !object.items.is_empty()
            || !object.pairs.is_empty()
            || object.state.is_some()
            || graph.changes(id).iter().any(is_built);
        if !is_filled {
            return;
        }
        let (Call::Reduce { callable, .. }
        | Call::New {
            class: callable, ..
        }
        | Call::NewEx {
            class: callable, ..
        }
        | Call::Instance {
            class: callable, ..
        }) = object.call;
        match class_by_id(graph, callable).unwrap_or(callable) {
            callable if matches!(graph.node(callable), Node::Extension(_)) => {}
            callable => match graph.global(callable) {
                // The classes of `__torch__` make objects, whatever is known of them.
                Some((module, name)) => {
                    let level = SafetyLevel::of_mutation(module, name);
                    if level != SafetyLevel::of_global(module, name) {
                        self.add((module, name), level, offset, place);
                    }
                }
                None => self.add(NAMELESS, SafetyLevel::Suspicious, offset, place),
            },
        }
    }

    /// Adds a persistent id that names a class with its source text, unless it is a known class:
    /// PyTorch asks the class whether to write a file.
    pub(super) fn persistent(
        &mut self,
        graph: &Graph,
        id: NodeId,
        offset: Option<u64>,
        place: &EntryPath,
    ) {
        let Some(class) = class_by_id(graph, id) else {
            return;
        };
        let level = graph
            .global(class)
            .map_or(SafetyLevel::Suspicious, |(module, name)| {
                SafetyLevel::of_mutation(module, name)
            });
        if level != SafetyLevel::Innocuous {
            self.add(CLASS_BY_ID, level, offset, place);
        }
    }
}

/// The class of a persistent id `('module', class, file, source)`.
fn class_by_id(graph: &Graph, id: NodeId) -> Option<NodeId> {
    match graph.sequence(graph.persistent(id)?)? {
        &[kind, class, ..] if graph.text(kind) == Some("module") => Some(class),
        _ => None,
    }
}

/// The text that a call of `_codecs.encode` encodes, which is how protocols before 3 spell bytes.
pub(super) fn encoded_text(graph: &Graph, object: &Object) -> Option<NodeId> {
    let Call::Reduce { callable, args } = object.call else {
        return None;
    };
    if graph.global(callable)? != ("_codecs", "encode") {
        return None;
    }
    graph.sequence(args)?.first().copied()
}

/// The bytes of such a text.
pub(super) fn encoded(graph: &Graph, text: NodeId) -> Option<Bytes> {
    let characters = graph.text(text)?.chars();
    let bytes = characters.map(|character| u8::try_from(u32::from(character)).ok());
    bytes.collect::<Option<Vec<u8>>>().map(Bytes::from)
}
