//! Storages that a pickle carries within it.
//!
//! `pickle.dump` of a tensor, without `torch.save`, pickles the storage as a call of
//! `torch.storage._load_from_bytes` on bytes, and those are a legacy stream of `torch.save` in turn.
//! The call is not made: the stream is read like any other, and the node becomes what it would have
//! been in a file of `torch.save`, a reference to a storage.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::globals::{GlobalRef, LOADS_BYTES};
use crate::pickle::{Graph, Node, NodeId, NodeMap, Text};
use crate::source::ByteRange;
use crate::torch::legacy;
use crate::torch::load_context::LoadContext;

/// The start of the keys of such storages; no key that PyTorch writes holds a slash.
const KEY: &str = "nested/";

/// Makes each such call in the graph a reference to a storage, and gives by the key where their bytes are.
/// `entry` is the archive entry of the pickle.
///
/// # Errors
/// When the bytes are no legacy stream of one storage, or one of those holds another.
pub(in crate::torch) fn resolve(
    graph: &mut Graph,
    entry: Option<&str>,
    context: &mut LoadContext,
) -> Result<HashMap<String, ByteRange>> {
    let mut storages = HashMap::new();
    // A file of `torch.save` names no such function: its graph need not be gone through.
    let is_loader = |global: &GlobalRef| global.name == LOADS_BYTES.1;
    if !context.globals.iter().any(is_loader) {
        return Ok(storages);
    }
    // Many calls can share their bytes: these are read once.
    let mut known: NodeMap<LoadedStorage> = NodeMap::default();
    let calls: Vec<(NodeId, NodeId)> = graph
        .ids()
        .filter_map(|id| argument(graph, id).map(|argument| (id, argument)))
        .collect();
    for (id, argument) in calls {
        let held = match known.entry(argument) {
            Entry::Occupied(held) => held.into_mut(),
            Entry::Vacant(vacant) => {
                let place = graph.offset(id).unwrap_or_default();
                let read = storage(graph, argument, entry, place, context);
                vacant.insert(read.map_err(|error| match entry {
                    Some(entry) => error.in_entry(entry),
                    None => error,
                })?)
            }
        };
        let (class, location, count, bytes) = held.clone();
        let key = format!("{KEY}{}", storages.len());
        let mut text = |text: &str| graph.push(Node::Str(Text::Utf8(text.into())));
        let members = [text("storage"), text(&key), text(&location)];
        let [kind, key_node, location] = members;
        let class = graph.push(class);
        let count = graph.push(Node::Int(count));
        let pid = graph.push(Node::Tuple([kind, class, key_node, location, count].into()));
        *graph.node_mut(id) = Node::Persistent(pid);
        storages.insert(key, bytes);
    }
    Ok(storages)
}

/// Class, location, count and bytes of a storage.
type LoadedStorage = (Node, String, i64, ByteRange);

/// The one argument, if the node is such a call.
fn argument(graph: &Graph, id: NodeId) -> Option<NodeId> {
    match graph.reduce(id)? {
        (LOADS_BYTES, &[argument]) => Some(argument),
        _ => None,
    }
}

/// Class, location, count and bytes of the one storage that the argument holds.
fn storage(
    graph: &Graph,
    argument: NodeId,
    entry: Option<&str>,
    place: u64,
    context: &mut LoadContext,
) -> Result<LoadedStorage> {
    let bytes = graph.binary(argument).ok_or_else(|| {
        Error::malformed(format!(
            "`torch.storage._load_from_bytes` takes bytes, got {}",
            graph.describe(argument)
        ))
        .at(place)
    })?;
    if context.is_nested {
        return Err(Error::unsupported(
            "a file within a file within a file: storages nest one deep",
        )
        .at(place));
    }
    let label = match entry {
        Some(entry) => format!("{entry} (file within it, at {place:#x})"),
        None => format!("(file within the pickle, at {place:#x})"),
    };
    context.is_nested = true;
    let inner = legacy::read(
        &Bytes::from(bytes.into_owned()).into(),
        Some(&label),
        context,
    );
    context.is_nested = false;
    let inner = inner?;
    let held = inner.graph();
    let members = held
        .persistent(held.root())
        .and_then(|pid| held.sequence(pid));
    let bytes = match inner.storage(held.root())? {
        Some(storage) => storage.verbatim()?,
        None => None,
    };
    let (Some(&[_, class, _, location, count, ..]), Some(bytes)) = (members, bytes) else {
        return Err(Error::unsupported(format!(
            "the file within the pickle holds {}, where a storage was expected",
            held.describe(held.root())
        ))
        .at(place));
    };
    Ok((
        held.node(class).clone(),
        held.text(location).unwrap_or_default().to_owned(),
        held.int(count).unwrap_or_default(),
        bytes,
    ))
}
