//! The index of a sharded checkpoint: a JSON object whose `weight_map` says which file holds which
//! tensor.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path};

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use crate::Limits;
use crate::error::{Error, ErrorKind, Result};
use crate::source::ByteRange;
use crate::unique_keys::{DuplicateRefusingMap, twice};

/// The key that makes a JSON file an index.
const WEIGHT_MAP: &str = "weight_map";
/// The key of the index's metadata.
const METADATA: &str = "metadata";

/// The contents of an index.
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
/// When the bytes are no JSON object with a `weight_map` of texts, one name occurs twice, or
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

/// Refuses a name that is not that of a file in the index's folder or below.
///
/// # Errors
/// When it is not.
pub(super) fn check_shard(shard: &str) -> Result<()> {
    // A name must mean the same on every system: no separator or drive of another one.
    let is_inside = !shard.is_empty()
        && !shard.contains(['\\', '\0', ':'])
        && Path::new(shard)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
    if is_inside {
        return Ok(());
    }
    Err(Error::new(ErrorKind::PathTraversal {
        shard: shard.to_owned(),
    }))
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
                    let weight_map = DuplicateRefusingMap {
                        expecting: "an object of file names",
                    };
                    if weights.replace(map.next_value_seed(weight_map)?).is_some() {
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

/// The `metadata` of the index, whatever it is; anything but an object of known values is ignored.
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

#[cfg(test)]
mod tests;
