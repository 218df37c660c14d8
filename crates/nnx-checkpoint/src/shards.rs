//! How tensors are spread over several files, as `huggingface_hub` does.

use indexmap::IndexMap;

/// The properties of a tensor that count when shards are filled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sized {
    pub(crate) bytes: u64,
    /// Tensors of one storage come into one file.
    pub(crate) storage: usize,
}

/// Splits tensors into files, by their places. Files are filled in the order of the tensors. A
/// tensor that is larger than the limit of a file gets a file of its own, in front of the one that
/// is being filled.
pub(crate) fn split(
    tensors: impl Iterator<Item = Sized>,
    max_bytes: Option<u64>,
) -> Vec<Vec<usize>> {
    let Some(max_bytes) = max_bytes else {
        return vec![tensors.enumerate().map(|(at, _)| at).collect()];
    };
    let mut sharing: IndexMap<usize, (u64, Vec<usize>)> = IndexMap::new();
    for (at, tensor) in tensors.enumerate() {
        let (bytes, places) = sharing.entry(tensor.storage).or_default();
        *bytes = bytes.saturating_add(tensor.bytes);
        places.push(at);
    }
    let mut shards: Vec<Vec<usize>> = Vec::new();
    let mut current = Vec::new();
    let mut filled = 0u64;
    for (bytes, places) in sharing.into_values() {
        if bytes > max_bytes {
            shards.push(places);
            continue;
        }
        if filled.saturating_add(bytes) > max_bytes {
            shards.push(std::mem::take(&mut current));
            filled = 0;
        }
        filled = filled.saturating_add(bytes);
        current.extend(places);
    }
    if !current.is_empty() || shards.is_empty() {
        shards.push(current);
    }
    shards
}
