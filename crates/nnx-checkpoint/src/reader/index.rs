//! The index of a sharded checkpoint: a JSON object whose `weight_map` says which file holds which
//! tensor.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use indexmap::IndexMap;
use indexmap::map::Entry;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::Limits;
use crate::error::{Error, ErrorKind, Result};
use crate::source::ByteRange;

/// The key that makes a JSON file an index.
const WEIGHT_MAP: &str = "weight_map";
/// Bytes that are searched for the key at a time.
const SEARCHED_BYTES: u64 = 1 << 20;
/// The key of what else the index tells.
const METADATA: &str = "metadata";

/// Whether the bytes are an index, well-formed or not: a JSON object with that key in it.
///
/// # Errors
/// When they cannot be read.
pub(super) fn is_one(bytes: &ByteRange) -> Result<bool> {
    const KEY: &[u8] = b"\"weight_map\"";
    let mut is_object = None;
    // The last bytes of the piece before, in which the key may begin.
    let mut window: Vec<u8> = Vec::new();
    let (mut at, len) = (0u64, bytes.byte_len());
    while at < len {
        let piece = bytes.read_up_to(at, SEARCHED_BYTES)?;
        if is_object.is_none() {
            is_object = piece.trim_ascii_start().first().map(|&first| first == b'{');
            if is_object == Some(false) {
                return Ok(false);
            }
        }
        window.extend_from_slice(&piece);
        if window.windows(KEY.len()).any(|part| part == KEY) {
            return Ok(is_object == Some(true));
        }
        let kept = window.len().saturating_sub(KEY.len());
        window.drain(..kept);
        at = at.saturating_add(piece.len() as u64);
    }
    Ok(false)
}

/// What an index says.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// The names of the tensors, each with the file that holds it, in the order of the index.
    pub(super) weights: IndexMap<String, String>,
    /// The texts among the metadata.
    pub(super) metadata: IndexMap<String, String>,
}

/// Reads an index.
///
/// # Errors
/// When the bytes are no JSON object with a `weight_map` of texts, one name stands there twice, or
/// the index is larger than [`Limits::max_header_bytes`].
pub(super) fn parse(bytes: &ByteRange, limits: &Limits) -> Result<Index> {
    let (allowed, found) = (limits.max_header_bytes, bytes.byte_len());
    if found > allowed {
        return Err(Error::limit("max_header_bytes", allowed, found));
    }
    let text = bytes.bytes()?;
    let mut json = serde_json::Deserializer::from_slice(&text);
    json.deserialize_map(IndexVisitor)
        .and_then(|index| json.end().map(|()| index))
        .map_err(|error| Error::malformed(format!("the index is no valid one: {error}")))
}

/// Where the file of that name is.
///
/// # Errors
/// When the name is not that of a file in the index's folder or below.
pub(super) fn shard_path(folder: &Path, shard: &str) -> Result<PathBuf> {
    let outside = || {
        Error::new(ErrorKind::PathTraversal {
            shard: shard.to_owned(),
        })
    };
    // A name must mean the same on every system: no separator or drive of another one.
    if shard.is_empty() || shard.contains(['\\', '\0', ':']) {
        return Err(outside());
    }
    let path = Path::new(shard);
    if !path
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
    {
        return Err(outside());
    }
    Ok(folder.join(path))
}

struct IndexVisitor;

impl<'de> Visitor<'de> for IndexVisitor {
    type Value = Index;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a `weight_map`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut weights, mut metadata) = (None, IndexMap::new());
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                WEIGHT_MAP => {
                    if weights.replace(map.next_value_seed(WeightMap)?).is_some() {
                        return Err(twice(WEIGHT_MAP));
                    }
                }
                METADATA => metadata = map.next_value::<Metadata>()?.texts(),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let weights = weights.ok_or_else(|| A::Error::missing_field(WEIGHT_MAP))?;
        Ok(Index { weights, metadata })
    }
}

/// Whatever stands as metadata; what is none of it that counts is passed over.
#[derive(Deserialize)]
#[serde(untagged)]
enum Metadata {
    Pairs(BTreeMap<String, Metadatum>),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Metadatum {
    Text(String),
    Other(IgnoredAny),
}

impl Metadata {
    fn texts(self) -> IndexMap<String, String> {
        let Self::Pairs(pairs) = self else {
            return IndexMap::new();
        };
        let texts = pairs.into_iter().filter_map(|(key, value)| match value {
            Metadatum::Text(text) => Some((key, text)),
            Metadatum::Other(_) => None,
        });
        texts.collect()
    }
}

struct WeightMap;

impl<'de> DeserializeSeed<'de> for WeightMap {
    type Value = IndexMap<String, String>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for WeightMap {
    type Value = IndexMap<String, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of file names")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut weights = IndexMap::new();
        while let Some(key) = map.next_key::<String>()? {
            match weights.entry(key) {
                Entry::Occupied(taken) => return Err(twice(taken.key())),
                Entry::Vacant(vacant) => vacant.insert(map.next_value::<String>()?),
            };
        }
        Ok(weights)
    }
}

#[cold]
fn twice<E: serde::de::Error>(key: &str) -> E {
    E::custom(format_args!("the key `{key}` stands there twice"))
}

#[cfg(test)]
mod tests;
