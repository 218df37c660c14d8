//! The JSON header.

use std::fmt;

use indexmap::IndexMap;
use indexmap::map::Entry;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};

use super::METADATA;
use crate::error::{Error, Result};
use crate::unique_keys::{DuplicateRefusingMap, twice};

/// The contents of the header, unchecked but for its JSON.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) metadata: IndexMap<String, String>,
    pub(super) tensors: IndexMap<String, Info>,
}

/// The header's description of one tensor.
#[derive(Debug)]
pub(super) struct Info {
    /// The dtype as the header spells it.
    pub(super) dtype: String,
    pub(super) shape: Vec<u64>,
    /// Begin and end, counted from the header's end.
    pub(super) offsets: [u64; 2],
}

/// Parses the header, which begins at `start` of the file.
pub(super) fn parse(header: &[u8], start: u64) -> Result<Header> {
    let text = str::from_utf8(header).map_err(|error| {
        Error::malformed("expected a header in UTF-8")
            .at(start.saturating_add(error.valid_up_to() as u64))
    })?;
    let mut parsed = Header::default();
    let mut at_fault = None;
    let mut json = serde_json::Deserializer::from_str(text);
    let seed = HeaderSeed {
        header: &mut parsed,
        at_fault: &mut at_fault,
    };
    match seed.deserialize(&mut json).and_then(|()| json.end()) {
        Ok(()) => Ok(parsed),
        Err(error) => {
            let offset = start.saturating_add(offset(text, &error) as u64);
            let error = Error::malformed(format!("the header is no valid one: {}", what(&error)))
                .at(offset);
            Err(match at_fault {
                Some(key) if key == METADATA => error.in_entry(METADATA),
                Some(tensor) => error.in_tensor(&tensor),
                None => error,
            })
        }
    }
}

/// serde_json's message without its position.
fn what(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&position) {
        Some(what) => what.to_owned(),
        None => text,
    }
}

/// serde_json counts lines and columns of bytes, both from 1.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let lines = error.line().saturating_sub(1);
    let line: usize = text.split_inclusive('\n').take(lines).map(str::len).sum();
    line.saturating_add(error.column().saturating_sub(1))
        .min(text.len())
}

/// Fills a [`Header`], and leaves the key at fault behind when it fails.
struct HeaderSeed<'a> {
    header: &'a mut Header,
    at_fault: &'a mut Option<String>,
}

impl<'de> DeserializeSeed<'de> for HeaderSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for HeaderSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_metadata = false;
        while let Some(key) = map.next_key::<String>()? {
            let outcome = if key == METADATA {
                if std::mem::replace(&mut has_metadata, true) {
                    Err(twice(METADATA))
                } else {
                    map.next_value_seed(DuplicateRefusingMap {
                        expecting: "an object of strings",
                    })
                    .map(|metadata| self.header.metadata = metadata)
                }
            } else {
                match self.header.tensors.entry(key) {
                    Entry::Occupied(taken) => {
                        let error = twice(taken.key());
                        *self.at_fault = Some(taken.key().clone());
                        return Err(error);
                    }
                    Entry::Vacant(vacant) => match map.next_value_seed(InfoSeed) {
                        Ok(info) => {
                            vacant.insert(info);
                            continue;
                        }
                        Err(error) => {
                            *self.at_fault = Some(vacant.into_key());
                            return Err(error);
                        }
                    },
                }
            };
            if let Err(error) = outcome {
                *self.at_fault = Some(METADATA.to_owned());
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Reads the three fields of a tensor, in any order.
struct InfoSeed;

impl<'de> DeserializeSeed<'de> for InfoSeed {
    type Value = Info;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Info, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for InfoSeed {
    type Value = Info;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `dtype`, `shape` and `data_offsets`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Info, A::Error> {
        let (mut dtype, mut shape, mut offsets) = (None, None, None);
        while let Some(field) = map.next_key::<String>()? {
            let is_second = match field.as_str() {
                "dtype" => dtype.replace(map.next_value()?).is_some(),
                "shape" => shape.replace(map.next_value()?).is_some(),
                "data_offsets" => offsets.replace(map.next_value()?).is_some(),
                // An unknown key may change the meaning of the bytes.
                _ => {
                    return Err(A::Error::unknown_field(
                        &field,
                        &["dtype", "shape", "data_offsets"],
                    ));
                }
            };
            if is_second {
                return Err(twice(&field));
            }
        }
        Ok(Info {
            dtype: dtype.ok_or_else(|| A::Error::missing_field("dtype"))?,
            shape: shape.ok_or_else(|| A::Error::missing_field("shape"))?,
            offsets: offsets.ok_or_else(|| A::Error::missing_field("data_offsets"))?,
        })
    }
}
