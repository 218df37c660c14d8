//! Pickles, one behind the other, and the names in them.

use std::collections::HashSet;

use bytes::Bytes;

use super::entry_path::EntryPath;
use super::error::ScanError;
use super::scanner::Scanner;
use super::{mutations, storages};
use crate::ErrorKind;
use crate::globals::{self, SafetyLevel};
use crate::pickle::{self, Graph, Node, PartialPickle};

/// Pickles that may follow one another; five begin a legacy file of PyTorch.
const MAX_PICKLES: usize = 10_000;
/// Objects at least that a pickle made before it broke off: fewer, and any bytes might be one.
const MIN_OBJECTS: usize = 3;
/// The opcode that begins every pickle of protocol 2 and later, and the newest protocol.
const PROTO: u8 = 0x80;
const NEWEST_PROTOCOL: u8 = 5;

impl Scanner {
    /// Looks at the pickles that the bytes begin with. Bytes that are no pickle are not reported,
    /// unless Python would have run something before it noticed.
    ///
    /// `sound_otherwise`: the bytes are sound in another format.
    pub(super) fn stream(&mut self, bytes: &Bytes, place: &EntryPath, sound_otherwise: bool) {
        self.stream_at(bytes, 0, place, sound_otherwise);
    }

    /// [`stream`](Self::stream) from an offset on.
    pub(super) fn stream_at(
        &mut self,
        bytes: &Bytes,
        start: usize,
        place: &EntryPath,
        sound_otherwise: bool,
    ) {
        let mut start = start;
        for count in 0..MAX_PICKLES {
            let rest = bytes.get(start..).unwrap_or_default();
            if rest.is_empty() {
                return;
            }
            let PartialPickle {
                graph,
                outcome,
                consumed,
                ..
            } = pickle::read_lossy(rest, &self.limits);
            match outcome {
                Ok(_) => {
                    self.pickles = self.pickles.saturating_add(1);
                    self.graph(&graph, start as u64, place, true);
                }
                Err(error) => {
                    let first = count == 0 && !sound_otherwise;
                    let is_limit = matches!(error.kind(), ErrorKind::LimitExceeded { .. });
                    let broke_off = (first && begins(rest, &graph, place))
                        || (is_limit && (first || graph.len() >= MIN_OBJECTS));
                    if broke_off || is_meant(&graph) {
                        self.pickles = self.pickles.saturating_add(1);
                        self.graph(&graph, start as u64, place, false);
                        let failure = ScanError::from(error);
                        let offset = failure.offset();
                        let offset = offset.map(|offset| offset.saturating_add(start as u64));
                        self.fail(failure.at(offset), place);
                    } else if names_danger(&graph) {
                        self.pickles = self.pickles.saturating_add(1);
                        self.graph(&graph, start as u64, place, false);
                    }
                }
            }
            match consumed {
                Some(consumed) => start = start.saturating_add(consumed),
                None => return,
            }
        }
        let message = format!("more than {MAX_PICKLES} pickles one behind the other");
        self.fail(ScanError::new("limit_exceeded", message), place);
    }

    /// Adds the names in a pickle, and looks into the byte strings that it holds. Of a pickle that
    /// is not `whole` no one can tell how it would use the result of a call.
    fn graph(&mut self, graph: &Graph, start: u64, place: &EntryPath, whole: bool) {
        let mut sound = storages::only_restored(graph, &self.limits);
        if whole {
            sound.extend(globals::soundly_called(graph));
        }
        let mut encoded = HashSet::new();
        for (id, node) in graph.nodes() {
            let offset = graph.offset(id).map(|offset| offset.saturating_add(start));
            match node {
                // The names in its arguments are found there.
                Node::Global { .. } if sound.contains(&id) => {}
                Node::Global { module, name } => self.find(module, name, offset, place),
                // The registry is Python's own; no file says what is in it.
                Node::Extension(code) => {
                    self.find("copyreg", &format!("extension {code}"), offset, place);
                }
                Node::Bytes(bytes) | Node::ByteArray(bytes) | Node::ByteString(bytes) => {
                    self.look(&Bytes::copy_from_slice(bytes), &place.value(offset));
                }
                Node::Object(object) => {
                    self.mutation(graph, (id, object), offset, place);
                    // Many calls may share one text.
                    if let Some(text) = mutations::encoded_text(graph, object)
                        && encoded.insert(text)
                        && let Some(bytes) = mutations::encoded(graph, text)
                    {
                        self.look(&bytes, &place.value(offset));
                    }
                }
                Node::Persistent(_) => self.persistent(graph, id, offset, place),
                _ => {}
            }
        }
    }
}

/// Whether bytes that broke off were a pickle from their first opcode on. In an archive they may
/// be numbers that begin so by chance, unless the entry is called a pickle.
fn begins(bytes: &[u8], graph: &Graph, place: &EntryPath) -> bool {
    let is_called_pickle = |entry: &String| entry.ends_with(".pkl") || entry.ends_with(".pickle");
    matches!(bytes, [PROTO, ..=NEWEST_PROTOCOL, ..])
        && (place.nesting == 0
            || graph.len() >= MIN_OBJECTS
            || place.entry.as_ref().is_some_and(is_called_pickle))
}

/// Whether bytes without that opcode, which broke off, look like a pickle all the same: they name
/// something as Python spells names, and go on.
fn is_meant(graph: &Graph) -> bool {
    let mut nodes = graph.nodes();
    let goes_on = graph.len() >= MIN_OBJECTS
        || graph
            .nodes()
            .any(|(_, node)| matches!(node, Node::Object(_)));
    goes_on && nodes.any(|(_, node)| is_named(node, |_, _| true))
}

fn names_danger(graph: &Graph) -> bool {
    let is_dangerous =
        |module: &str, name: &str| SafetyLevel::of_global(module, name) == SafetyLevel::Dangerous;
    graph.nodes().any(|(_, node)| is_named(node, is_dangerous))
}

/// Whether the object is a class or function, spelt as Python spells names, and such a one.
fn is_named(node: &Node, is_one: impl Fn(&str, &str) -> bool) -> bool {
    match node {
        Node::Global { module, name } => {
            is_dotted(module) && is_dotted(name) && is_one(module, name)
        }
        _ => false,
    }
}

/// Whether the text is identifiers joined by dots.
fn is_dotted(text: &str) -> bool {
    text.split('.').all(|part| {
        part.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && part
                .chars()
                .all(|character| character.is_alphanumeric() || character == '_')
    })
}
