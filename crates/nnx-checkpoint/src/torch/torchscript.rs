//! TorchScript archives: the tensors beside the program.
//!
//! The module itself is in `data.pkl`, as an object of a class `__torch__.…` with its attributes;
//! the program under `code/` is not looked at. The constants of the program are a tuple in
//! `constants.pkl`, whose storages are under `constants/` instead of `data/`. The layout is that of
//! `torch/csrc/jit/serialization/export_module.cpp`.

use std::collections::HashMap;

use super::load_context::LoadContext;
use crate::error::Result;
use crate::pickle::{Graph, Node, NodeId, Text};
use crate::zip::ZipArchive;

/// The start of the keys of storages under `constants/` in the graph, so that they differ from those
/// under `data/`. No key that PyTorch writes holds a slash.
pub(super) const CONSTANTS: &str = "constants/";

/// Whether an archive has a program of TorchScript beside its pickle.
pub(crate) fn is_script(archive: &ZipArchive) -> bool {
    let mut entries = archive.entries().iter();
    entries.any(|entry| entry.name().ends_with("/constants.pkl"))
}

/// Reads `constants.pkl` and adds what it holds to the graph of `data.pkl`.
pub(super) fn add_constants(
    graph: &mut Graph,
    bytes: &[u8],
    root: &str,
    context: &mut LoadContext,
) -> Result<()> {
    let mut constants = context.entry(bytes, &format!("{root}/constants.pkl"))?;
    let ids: Vec<(NodeId, NodeId)> = constants.persistent_ids().collect();
    for (node, pid) in ids {
        let Some(mut members) = constants.sequence(pid).map(<[NodeId]>::to_vec) else {
            continue;
        };
        let Some(key) = members.get_mut(2) else {
            continue;
        };
        let Some(text) = constants.text(*key) else {
            continue;
        };
        let text = Text::Utf8(format!("{CONSTANTS}{text}").into());
        *key = constants.push(Node::Str(text));
        let pid = constants.push(Node::Tuple(members.into()));
        *constants.node_mut(node) = Node::Persistent(pid);
    }
    let root = constants.root();
    context.constants = Some(constants.copy_into(root, graph, &mut HashMap::new()));
    Ok(())
}
