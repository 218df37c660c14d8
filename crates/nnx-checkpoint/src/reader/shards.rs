//! Checkpoints of several files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::entry::TensorEntry;
use super::file;
use super::{CheckpointReader, alias, index};
use crate::Limits;
use crate::error::{Error, ErrorKind, Result};
use crate::open::OpenOptions;
use crate::sniff::Format;
use crate::source::ByteRange;

/// Files that are kept open at a time; bytes of further ones are taken from their maps.
const MAX_OPEN_FILES: usize = 256;
/// How many names a note shows.
const SHOWN_NAMES: usize = 5;

/// The tensors of each file that an index names.
pub(super) fn by_shard<'a>(
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
    for ((shard, names), path) in names_of.iter().zip(&paths) {
        let mut held: HashMap<String, TensorEntry> = reader
            .open_shard(shard, path, options)?
            .into_iter()
            .map(|entry| (entry.name().to_owned(), entry))
            .collect();
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
        if options.restore_aliases {
            // These come back below.
            held.retain(|name, entry| !entry.is_alias() || !index.metadata.contains_key(name));
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

/// Opens files that no index names as one checkpoint: the tensors of all of them, in the order of the
/// files.
///
/// # Errors
/// When two files hold a tensor of one name, or a file cannot be opened.
pub(super) fn unindexed(paths: &[PathBuf], options: &OpenOptions) -> Result<CheckpointReader> {
    let mut reader = CheckpointReader::empty(Format::ShardedSafeTensors);
    for path in paths {
        let shard = path.file_name().unwrap_or_default().to_string_lossy();
        for entry in reader.open_shard(&shard, path, options)? {
            let added = reader.push_tensor(entry);
            added.map_err(|error| error.in_path(path))?;
        }
    }
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
    /// Opens a shard and adds all that it holds, but for its tensors, which are given back.
    fn open_shard(
        &mut self,
        shard: &str,
        path: &Path,
        options: &OpenOptions,
    ) -> Result<Vec<TensorEntry>> {
        let mut source = options.source(path)?;
        if self.files >= MAX_OPEN_FILES {
            source = source.with_file_closed();
        }
        let file = file::read(&source.into(), options).map_err(|error| error.in_path(path))?;
        Ok(self.take_shard(shard, file))
    }

    /// Adds all that a shard holds, but for its tensors, which are given back.
    fn take_shard(&mut self, shard: &str, file: Self) -> Vec<TensorEntry> {
        if self.files == 0 && file.format != Format::SafeTensors {
            self.format = Format::ShardedTorch;
        }
        for mut other in file.non_tensors {
            // Several graphs: a node alone does not tell which.
            other.node = None;
            other.description.push_str(&format!(", in shard `{shard}`"));
            self.non_tensors.push(other);
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
        self.files = self.files.saturating_add(1);
        file.tensors
            .into_iter()
            .map(|mut entry| {
                entry.first_storage = first;
                entry
            })
            .collect()
    }
}
