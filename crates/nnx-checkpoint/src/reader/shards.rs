//! Checkpoints of several files.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::entry::TensorEntry;
use super::file;
use super::{CheckpointReader, alias, index};
use crate::Limits;
use crate::error::{Error, ErrorKind, Result};
use crate::open::OpenOptions;
use crate::sniff::Format;
use crate::source::{ByteRange, Folder};

/// How many names a note shows.
const SHOWN_NAMES: usize = 5;

/// The tensors of each file that an index names.
///
/// # Errors
/// When there are more files than [`Limits::max_shards`], or one would be outside the folder.
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
    for shard in shards.keys() {
        index::check_shard(shard)?;
    }
    Ok(shards)
}

/// Opens the files that an index in the folder names.
pub(super) fn sharded(
    folder: &dyn Folder,
    index: &ByteRange,
    options: &OpenOptions,
) -> Result<CheckpointReader> {
    let index = index::parse(index, &options.limits)?;
    let names_of = by_shard(&index.weights, &options.limits)?;
    for shard in names_of.keys() {
        if !folder.has_file(shard)? {
            return Err(Error::new(ErrorKind::MissingShard {
                shard: (*shard).to_owned(),
            }));
        }
    }

    let mut reader = CheckpointReader::empty(Format::ShardedSafeTensors);
    let mut found: HashMap<String, TensorEntry> = HashMap::new();
    for (shard, names) in &names_of {
        let mut held: HashMap<String, TensorEntry> = reader
            .open_shard(folder, shard, options)?
            .into_iter()
            .map(|entry| (entry.name().to_owned(), entry))
            .collect();
        for &name in names {
            let entry = held.remove(name).ok_or_else(|| {
                Error::malformed(format!(
                    "the index puts the tensor into the shard `{shard}`, which does not hold it"
                ))
                .in_tensor(name)
                .in_path(&folder.path(shard))
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
pub(super) fn unindexed(
    folder: &dyn Folder,
    shards: &[String],
    options: &OpenOptions,
) -> Result<CheckpointReader> {
    let mut reader = CheckpointReader::empty(Format::ShardedSafeTensors);
    for shard in shards {
        for entry in reader.open_shard(folder, shard, options)? {
            let added = reader.push_tensor(entry);
            added.map_err(|error| error.in_path(&folder.path(shard)))?;
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
        folder: &dyn Folder,
        shard: &str,
        options: &OpenOptions,
    ) -> Result<Vec<TensorEntry>> {
        let file = folder
            .open(shard)
            .and_then(|bytes| file::read(&bytes, options))
            .map_err(|error| error.in_path(&folder.path(shard)))?;
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
        self.has_pieces |= file.has_pieces;
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
