//! Reading the legacy stream (before PyTorch 1.6, or
//! `torch.save(…, _use_new_zipfile_serialization=False)`).
//!
//! Five pickles one behind the other (magic number, protocol version, platform, the object, the
//! storage keys), then each storage: a 64-bit little-endian element count and the elements.

pub(super) mod load_from_bytes;

use std::collections::{HashMap, HashSet};

use super::load_context::LoadContext;
use super::object::TorchObject;
use super::pickle_location::PickleLocation;
use super::storage_id::StorageId;
use super::storage_table::{EntryBytes, StorageTable};
use super::stream::Stream;
use crate::Dtype;
use crate::error::{Error, Result, shown};
use crate::pickle::{Graph, Node};
use crate::source::ByteRange;

/// The magic number 0x1950a86a20f9469cfc6c as a pickle stores it: two's complement, little-endian.
const MAGIC: [u8; 10] = [0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];
/// The one protocol version that PyTorch ever wrote.
const PROTOCOL_VERSION: i64 = 1001;

/// Reads a legacy stream; of the storages only their counts are read. `label` names the stream in
/// errors when it is not the whole file.
pub(super) fn read(
    bytes: &ByteRange,
    label: Option<&str>,
    context: &mut LoadContext,
) -> Result<TorchObject> {
    let mut stream = Stream::new(bytes, label);
    let (magic, at) = stream.pickle(context)?;
    if *magic.node(magic.root()) != Node::BigInt(Box::new(MAGIC)) {
        return Err(Error::unsupported(format!(
            "a bare pickle of {}: `torch.save` did not write it, and PyTorch does not read it",
            magic.describe(magic.root())
        ))
        .at(at));
    }
    let (version, at) = stream.pickle(context)?;
    if version.int(version.root()) != Some(PROTOCOL_VERSION) {
        return Err(Error::unsupported(format!(
            "the legacy protocol version must be {PROTOCOL_VERSION}, got {}",
            version.describe(version.root())
        ))
        .at(at));
    }
    // The platform: PyTorch writes little-endian elements wherever it runs and ignores this.
    stream.pickle(context)?;
    let (mut graph, start) = stream.pickle(context)?;
    let location = PickleLocation::new(label, start);
    let (keys, at) = stream.pickle(context)?;

    let mut storages = storages(&mut stream, &graph, &location, &keys, at)?;
    if stream.rest() > 0 {
        context.notes.push(format!(
            "{} bytes follow the last storage, at {:#x}",
            stream.rest(),
            stream.position()
        ));
    }
    storages.extend(load_from_bytes::resolve(&mut graph, label, context)?);
    let table = StorageTable::collect(&graph, &location, |id| {
        storages
            .remove(id.key)
            .map(EntryBytes::Range)
            .ok_or_else(|| {
                Error::malformed(format!(
                    "the file does not hold storage `{}`",
                    shown(id.key)
                ))
                .at(at)
            })
    })?;
    Ok(TorchObject::new(graph, table, location))
}

/// Where the bytes of each storage are, by its key.
fn storages(
    stream: &mut Stream<'_>,
    graph: &Graph,
    location: &PickleLocation,
    keys: &Graph,
    at: u64,
) -> Result<HashMap<String, ByteRange>> {
    let mut ids: HashMap<&str, StorageId<'_>> = HashMap::new();
    let mut seen = HashSet::new();
    for (_, pid) in graph.persistent_ids() {
        if !seen.insert(pid) {
            continue;
        }
        let parsed = StorageId::parse(graph, pid).map_err(|error| location.locate(error))?;
        if let Some(id) = parsed {
            // Where references differ in dtype, PyTorch counts in elements of the first.
            ids.entry(id.key).or_insert(id);
        }
    }
    let keys_not_a_list = || {
        Error::malformed(format!(
            "the storage keys must be a list of texts, got {}",
            keys.describe(keys.root())
        ))
        .at(at)
    };
    let mut storages = HashMap::new();
    for &key in keys.sequence(keys.root()).ok_or_else(keys_not_a_list)? {
        let key = keys.text(key).ok_or_else(keys_not_a_list)?;
        let id = ids.get(key).ok_or_else(|| {
            Error::malformed(format!(
                "nothing in the object refers to storage `{}`",
                shown(key)
            ))
            .at(at)
        })?;
        let at = stream.position();
        let byte_len = usize::try_from(stream.i64()?)
            .ok()
            .and_then(|count| count.checked_mul(id.dtype.map_or(1, Dtype::size)));
        if byte_len != Some(id.byte_len) {
            return Err(Error::malformed(format!(
                "storage `{}` takes {} bytes by its persistent id, its own count says {}",
                shown(key),
                id.byte_len,
                byte_len.map_or_else(|| "an impossible number".to_owned(), |len| len.to_string())
            ))
            .at(at));
        }
        if storages
            .insert(key.to_owned(), stream.take(id.byte_len)?)
            .is_some()
        {
            return Err(
                Error::malformed(format!("storage `{}` is listed twice", shown(key))).at(at),
            );
        }
    }
    Ok(storages)
}
