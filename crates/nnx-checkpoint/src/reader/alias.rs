//! Tensors under a second name in a safetensors file.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::entry::TensorEntry;

/// Whether a metadata pair can be told from any other text: names within a model have a dot.
pub(crate) fn is_alias(name: &str, kept: &str) -> bool {
    name.contains('.') && kept.contains('.')
}

/// Lists each name that the metadata has for a tensor of the file as that tensor once more, of the
/// same storage: `save_model` of the format's own library notes `dropped name: kept name`.
pub(super) fn restore(
    tensors: &mut Vec<TensorEntry>,
    metadata: &IndexMap<String, String>,
    notes: &mut Vec<String>,
) {
    if metadata.is_empty() {
        return;
    }
    let by_name: HashMap<&str, usize> = tensors
        .iter()
        .enumerate()
        .map(|(index, entry)| (entry.name(), index))
        .collect();
    let mut aliases = Vec::new();
    for (name, kept) in metadata {
        let Some(entry) = by_name.get(kept.as_str()).and_then(|&at| tensors.get(at)) else {
            continue;
        };
        if !is_alias(name, kept) || by_name.contains_key(name.as_str()) {
            continue;
        }
        aliases.push(entry.with_alias(name));
    }
    match aliases.len() {
        0 => return,
        1 => notes.push("1 tensor has a second name, which the metadata tells".to_owned()),
        count => notes.push(format!(
            "{count} tensors have a second name, which the metadata tells"
        )),
    }
    tensors.extend(aliases);
}
