//! JSON objects in which no key may occur twice: which of the values counts is up to each reader.

use std::fmt;

use indexmap::IndexMap;
use indexmap::map::Entry;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};

use crate::error::shown;

/// Reads an object of texts, in its order, and refuses a key that occurs twice.
pub(crate) struct DuplicateRefusingMap {
    /// The expected contents of the object, for an error.
    pub(crate) expecting: &'static str,
}

impl<'de> DeserializeSeed<'de> for DuplicateRefusingMap {
    type Value = IndexMap<String, String>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for DuplicateRefusingMap {
    type Value = IndexMap<String, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut texts = IndexMap::new();
        while let Some(key) = map.next_key::<String>()? {
            match texts.entry(key) {
                Entry::Occupied(taken) => return Err(twice(taken.key())),
                Entry::Vacant(vacant) => vacant.insert(map.next_value::<String>()?),
            };
        }
        Ok(texts)
    }
}

/// The error of a key that occurs twice.
#[cold]
pub(crate) fn twice<E: serde::de::Error>(key: &str) -> E {
    E::custom(format_args!("the key `{}` stands there twice", shown(key)))
}
