//! The names of files with weights, and which of them replace others.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use nnx_checkpoint::shards_of;

/// The file of the weights.
pub(crate) const WEIGHTS: &str = "model.safetensors";
/// The index of weights in several files.
pub(crate) const INDEX: &str = "model.safetensors.index.json";
/// The weights in PyTorch's format.
const BIN: &str = "pytorch_model.bin";
/// Their index.
const BIN_INDEX: &str = "pytorch_model.bin.index.json";

/// The files with weights, in the order in which they are searched. A single file comes before an
/// index, as in Python, whose mixin reads no index. The files in PyTorch's format come last;
/// `nnx-checkpoint` reads them and executes nothing.
pub(crate) const WEIGHT_FILES: [&str; 4] = [WEIGHTS, INDEX, BIN, BIN_INDEX];

/// The two families of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Family {
    SafeTensors,
    PyTorch,
}

impl Family {
    fn from_name(name: &str) -> Option<Self> {
        if name == WEIGHTS || name == INDEX || is_shard(name, "model-", ".safetensors") {
            return Some(Self::SafeTensors);
        }
        let is_bin = name == BIN || name == BIN_INDEX || is_shard(name, "pytorch_model-", ".bin");
        is_bin.then_some(Self::PyTorch)
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::SafeTensors => (WEIGHTS, INDEX),
            Self::PyTorch => (BIN, BIN_INDEX),
        }
    }
}

/// Whether a file is a shard, as `huggingface_hub` names shards.
fn is_shard(name: &str, prefix: &str, suffix: &str) -> bool {
    let digits = |text: &str| text.len() == 5 && text.bytes().all(|b| b.is_ascii_digit());
    name.strip_prefix(prefix)
        .and_then(|name| name.strip_suffix(suffix))
        .and_then(|name| name.split_once("-of-"))
        .is_some_and(|(at, count)| digits(at) && digits(count))
}

/// The folder of a path, with the slash at its end, and the file name.
fn split(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |slash| slash + 1))
}

/// Whether a file has the weights of a folder, or is their index.
pub(crate) fn is_weights(path: &str) -> bool {
    Family::from_name(split(path).1).is_some()
}

/// The ends of the names of files with weights; the names may begin with anything.
const WEIGHT_ENDS: [&str; 11] = [
    ".safetensors",
    ".bin",
    ".pt",
    ".pth",
    ".pt2",
    ".ckpt",
    ".gguf",
    ".onnx",
    ".h5",
    ".msgpack",
    ".npz",
];

/// The parts that identify the name of an index, including that of a variant (`….index.fp16.json`).
const INDEX_PARTS: [&str; 2] = [".safetensors.index.", ".bin.index."];

/// Whether the name of a file says that it contains weights, in a format of this crate or of
/// another tool.
pub(crate) fn looks_like_weights(path: &str) -> bool {
    WEIGHT_ENDS.iter().any(|end| path.ends_with(end))
        || INDEX_PARTS.iter().any(|part| path.contains(part))
}

/// The folders with weights, each with a slash at its end.
pub(crate) fn folders_of_weights<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    paths
        .filter(|path| looks_like_weights(path))
        .map(|path| split(path).0)
        .collect()
}

/// Whether a file is in one of those folders.
pub(crate) fn is_within(path: &str, folders: &BTreeSet<&str>) -> bool {
    folders.contains(split(path).0)
}

/// The existing files with weights which the new files replace under other names. If they were
/// kept, they would be read in place of the new files, or together with them.
///
/// Only complete weights replace others: a single file, or an index with every file that `shards`
/// lists for it. Weights in PyTorch's format do not affect safetensors files.
pub(crate) fn replaced<'a>(
    existing: impl Iterator<Item = &'a str>,
    new: &BTreeSet<&str>,
    shards: impl Fn(&str) -> Option<Vec<String>>,
) -> Vec<&'a str> {
    let mut complete: HashMap<&str, Family> = HashMap::new();
    for path in new {
        let (folder, name) = split(path);
        let Some(family) = Family::from_name(name) else {
            continue;
        };
        let (whole, index) = family.names();
        let comes = name == whole
            || name == index
                && shards(path).is_some_and(|names| {
                    let mut names = names.iter().map(|name| format!("{folder}{name}"));
                    names.all(|name| new.contains(name.as_str()))
                });
        if comes {
            let known = complete.entry(folder).or_insert(family);
            *known = family.min(*known);
        }
    }
    existing
        .filter(|path| {
            let (folder, name) = split(path);
            let family = Family::from_name(name).zip(complete.get(folder));
            family.is_some_and(|(old, new)| old <= *new) && !new.contains(path)
        })
        .collect()
}

/// The names of the files that an index names; `None` for a file that is not an index.
pub(crate) fn shard_names(index: &Path) -> Option<Vec<String>> {
    let folder = index.parent()?;
    let paths = shards_of(index).ok()?;
    let names = paths.iter().map(|path| {
        let name = path.strip_prefix(folder).ok()?;
        Some(name.to_str()?.to_owned())
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(existing: &[&str], new: &[&str], expected: &[&str]) {
        let shards = |index: &str| {
            let (_, name) = split(index);
            let names: &[&str] = match name {
                INDEX => &["model-00001-of-00002.safetensors", "part_b.safetensors"],
                _ => &["pytorch_model-00001-of-00001.bin"],
            };
            Some(names.iter().map(|name| (*name).to_owned()).collect())
        };
        let new = new.iter().copied().collect();
        let found = replaced(existing.iter().copied(), &new, shards);
        assert_eq!(found, expected);
    }

    const SHARDS: [&str; 3] = [
        INDEX,
        "model-00001-of-00002.safetensors",
        "part_b.safetensors",
    ];

    #[test]
    fn all_weights_replace_those_of_other_names() {
        check(&[WEIGHTS, "config.json"], &SHARDS, &[WEIGHTS]);
        check(&SHARDS, &[WEIGHTS], &SHARDS[..2]);
        let other = "model-00001-of-00003.safetensors";
        check(&[other], &SHARDS, &[other]);
        check(&[WEIGHTS, INDEX, BIN], &[BIN], &[WEIGHTS, INDEX]);
        check(
            &[BIN],
            &["pytorch_model-00001-of-00001.bin", BIN_INDEX],
            &[BIN],
        );
        check(
            &["a/model.safetensors", WEIGHTS],
            &["a/pytorch_model.bin"],
            &["a/model.safetensors"],
        );
    }

    #[test]
    fn a_part_of_them_replaces_nothing() {
        check(&[WEIGHTS], &SHARDS[..2], &[]);
        check(&[WEIGHTS], &SHARDS[1..], &[]);
        check(&SHARDS, &[INDEX], &[]);
        check(&[WEIGHTS], &["config.json"], &[]);
        // Weights in PyTorch's format are read only if there are no others.
        check(&[BIN, BIN_INDEX], &[WEIGHTS], &[]);
        check(&[WEIGHTS], &["b/model.safetensors.index.json"], &[]);
    }
}
