//! Several files with an index, as `huggingface_hub` splits and writes them.

use indexmap::IndexMap;
use serde::{Serialize, Serializer};

use super::FilePlan;
use crate::convert::target::{Target, TargetFile};
use crate::error::{Error, Result};

/// The files' names.
pub(super) fn names(target: &Target<'_>, count: usize) -> Vec<String> {
    if count == 1 {
        return vec![target.single().name];
    }
    (0..count).map(|at| target.shard_name(at, count)).collect()
}

/// The index of the files, where there are several: the file and its text. `tensors` are the names
/// in each file, in the order of the source.
///
/// # Errors
/// None that texts give.
pub(super) fn index<'a>(
    target: &Target<'_>,
    names: &[String],
    files: &[FilePlan],
    tensors: impl Iterator<Item = Vec<&'a str>>,
    metadata: &IndexMap<String, String>,
) -> Result<Option<(TargetFile, String)>> {
    if files.len() < 2 {
        return Ok(None);
    }
    let pieces = files.iter().flat_map(|file| &file.pieces);
    let total = pieces.fold(0u64, |sum, piece| sum.saturating_add(piece.len()));
    let mut about: IndexMap<&str, serde_json::Value> = IndexMap::new();
    about.insert("total_size", total.into());
    for (key, value) in metadata.iter().filter(|(key, _)| *key != "format") {
        about.insert(key, value.as_str().into());
    }
    let mut weight_map: IndexMap<&str, &str> = IndexMap::new();
    for (name, tensors) in names.iter().zip(tensors) {
        weight_map.extend(tensors.into_iter().map(|tensor| (tensor, name.as_str())));
    }
    let index = Index {
        metadata: about,
        weight_map,
    };
    // Two spaces a level, and no line feed at the end.
    let text = serde_json::to_string_pretty(&index)
        .map_err(|error| Error::from(std::io::Error::from(error)))?;
    Ok(Some((target.index(), ascii(&text))))
}

/// The contents of an index, in its order.
#[derive(Serialize)]
struct Index<'a> {
    #[serde(serialize_with = "ordered")]
    metadata: IndexMap<&'a str, serde_json::Value>,
    #[serde(serialize_with = "ordered")]
    weight_map: IndexMap<&'a str, &'a str>,
}

/// A map in its own order.
fn ordered<S: Serializer, V: Serialize>(
    map: &IndexMap<&str, V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(map)
}

/// JSON with every character beyond ASCII escaped, as Python writes it.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() {
            out.push(character);
            continue;
        }
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    out
}
