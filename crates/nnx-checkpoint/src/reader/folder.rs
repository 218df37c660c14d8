//! Checkpoints of several files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::entry::TensorEntry;
use super::file;
use super::options::OpenOptions;
use super::{CheckpointReader, alias, index, mistaken};
use crate::error::{Error, ErrorKind, Result};
use crate::sniff::Format;
use crate::source::ByteRange;
use crate::{Limits, Source};

/// The names by which weights are found in a folder, as the libraries of the Hugging Face family
/// write them, in the order in which they are looked for. The file of one piece comes before an
/// index, as in `transformers` and in the mixin of `huggingface_hub`, unless it is a shard of it.
const STANDARD_NAMES: &[&str] = &[
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "diffusion_pytorch_model.safetensors",
    "diffusion_pytorch_model.safetensors.index.json",
    "diffusion_pytorch_model.bin",
    "diffusion_pytorch_model.bin.index.json",
    "adapter_model.safetensors",
    "adapter_model.bin",
];

/// Files that are kept open at a time; bytes of further ones are taken from their maps.
const MAX_OPEN_FILES: usize = 256;
/// How many names a note shows.
const SHOWN_NAMES: usize = 5;

/// The weights in a folder.
///
/// # Errors
/// When there is no file of a standard name.
pub(super) fn weights(folder: &Path) -> Result<PathBuf> {
    let mut paths = STANDARD_NAMES.iter().map(|name| folder.join(name));
    let found = paths.find(|path| path.is_file());
    found.map(index_or_file).ok_or_else(mistaken::folder)
}

/// What to open for a file of weights that was found in a folder: the index beside it, if the file is
/// one of the shards that it names, or if that cannot be told; else the file.
pub fn index_or_file(weights: PathBuf) -> PathBuf {
    let index = index_of(&weights);
    let is_shard = || shards_of(&index).map_or(true, |shards| shards.contains(&weights));
    match index.is_file() && is_shard() {
        true => index,
        false => weights,
    }
}

/// Where the index of such a file would be.
fn index_of(weights: &Path) -> PathBuf {
    let mut name = weights.file_name().unwrap_or_default().to_owned();
    name.push(".index.json");
    weights.with_file_name(name)
}

/// Says that there is an index of the same weights beside a file of one piece. One of them may be of
/// an earlier save.
pub(super) fn passed_over(weights: &Path) -> Option<String> {
    let index = index_of(weights);
    index.is_file().then(|| {
        let name = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
        format!(
            "the folder has the shards of `{}` as well, which are not read: `{}` comes first",
            name(&index),
            name(weights)
        )
    })
}

/// The files that the index of a sharded checkpoint names, each once. Whether they are there is not
/// looked at.
///
/// # Errors
/// When the index cannot be read or is none, names more files than
/// [`Limits::max_shards`](crate::Limits::max_shards), or one that lies outside its folder.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let index = folder.path().join("model.safetensors.index.json");
/// let weights = r#"{"a": "1.safetensors", "b": "2.safetensors", "c": "1.safetensors"}"#;
/// std::fs::write(&index, format!(r#"{{"metadata": {{}}, "weight_map": {weights}}}"#))?;
/// let shards = nnx_checkpoint::shards_of(&index)?;
/// assert_eq!(shards, ["1.safetensors", "2.safetensors"].map(|name| folder.path().join(name)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn shards_of(index: impl AsRef<Path>) -> Result<Vec<PathBuf>> {
    let path = index.as_ref();
    let folder = path.parent().unwrap_or(Path::new(""));
    let limits = Limits::default();
    let read = || -> Result<Vec<PathBuf>> {
        let source = Source::open(path)?;
        let index = index::parse(&source.into(), &limits)?;
        let shards = by_shard(&index.weights, &limits)?;
        let paths = shards.keys();
        paths
            .map(|shard| index::shard_path(folder, shard))
            .collect()
    };
    read().map_err(|error| error.in_path(path))
}

/// The tensors of each file that an index names.
fn by_shard<'a>(
    weights: &'a IndexMap<String, String>,
    limits: &Limits,
) -> Result<IndexMap<&'a str, Vec<&'a str>>> {
    let mut shards: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for (tensor, shard) in weights {
        shards.entry(shard).or_default().push(tensor);
    }
    let count = shards.len() as u64;
    if count > limits.max_shards {
        return Err(Error::limit("max_shards", limits.max_shards, count));
    }
    Ok(shards)
}

/// Opens the files that an index in the folder names.
pub(super) fn sharded(
    folder: &Path,
    index: &ByteRange,
    options: &OpenOptions,
) -> Result<CheckpointReader> {
    let index = index::parse(index, &options.limits)?;
    let names_of = by_shard(&index.weights, &options.limits)?;
    // All names are checked before any file is touched.
    let mut paths = Vec::new();
    for shard in names_of.keys() {
        paths.push(index::shard_path(folder, shard)?);
    }
    for (shard, path) in names_of.keys().zip(&paths) {
        if !path.exists() {
            return Err(Error::new(ErrorKind::MissingShard {
                shard: (*shard).to_owned(),
            }));
        }
    }

    let mut reader = CheckpointReader::empty(Format::ShardedSafeTensors);
    let mut found: HashMap<String, TensorEntry> = HashMap::new();
    for (at, ((shard, names), path)) in names_of.iter().zip(&paths).enumerate() {
        let mut source = options.source(path)?;
        if at >= MAX_OPEN_FILES {
            source = source.with_file_closed();
        }
        let file = file::read(&source.into(), options).map_err(|error| error.in_path(path))?;
        let mut held = reader.take_shard(shard, file);
        for &name in names {
            let entry = held.remove(name).ok_or_else(|| {
                Error::malformed(format!(
                    "the index puts the tensor into the shard `{shard}`, which does not hold it"
                ))
                .in_tensor(name)
                .in_path(path)
            })?;
            found.insert(name.to_owned(), entry);
        }
        note_unlisted(&mut reader, shard, &held);
    }
    let tensors = index.weights.keys();
    reader.tensors = tensors.filter_map(|name| found.remove(name)).collect();
    if options.restore_aliases {
        alias::restore(&mut reader.tensors, &index.metadata, &mut reader.notes);
    }
    reader.index_tensors();
    Ok(reader)
}

/// Says which tensors of a shard the index does not list, or lists in another shard.
fn note_unlisted(reader: &mut CheckpointReader, shard: &str, rest: &HashMap<String, TensorEntry>) {
    if rest.is_empty() {
        return;
    }
    let mut names: Vec<&str> = rest.keys().map(String::as_str).collect();
    names.sort_unstable();
    let more = if names.len() > SHOWN_NAMES {
        ", …"
    } else {
        ""
    };
    names.truncate(SHOWN_NAMES);
    reader.note(format!(
        "shard `{shard}` holds {} tensors that the index does not take from it: {}{more}",
        rest.len(),
        names.join(", ")
    ));
}

impl CheckpointReader {
    /// Adds all that a shard holds, but for its tensors, which are given back by their names.
    fn take_shard(&mut self, shard: &str, file: Self) -> HashMap<String, TensorEntry> {
        let part = self.parts.len();
        if part == 0 && file.format != Format::SafeTensors {
            self.format = Format::ShardedTorch;
        }
        for mut other in file.others {
            // Several graphs: a node alone does not tell which.
            other.node = None;
            other.description.push_str(&format!(", in shard `{shard}`"));
            self.others.push(other);
        }
        for mut global in file.globals {
            global.entry = Some(match global.entry {
                Some(entry) => format!("{shard}/{entry}"),
                None => shard.to_owned(),
            });
            self.globals.push(global);
        }
        for (key, value) in file.metadata {
            let known = self.metadata.entry(key).or_insert_with(|| value.clone());
            if *known != value {
                self.notes.push(format!(
                    "shard `{shard}` has other metadata than the shards before it"
                ));
            }
        }
        let notes = file.notes.into_iter();
        self.notes
            .extend(notes.map(|note| format!("{note}, in shard `{shard}`")));
        let first = self.storages;
        self.storages = self.storages.saturating_add(file.storages);
        self.parts.extend(file.parts);
        file.tensors
            .into_iter()
            .map(|mut entry| {
                entry.part = part;
                entry.first_storage = first;
                (entry.name().to_owned(), entry)
            })
            .collect()
    }
}
