//! A torch archive around a pickle.

use nnx_checkpoint::Dtype;
use nnx_checkpoint::pickle::{Graph, NodeId, read};
use nnx_checkpoint::zip::ZipWriter;

use crate::limits::limits;

/// Bytes of a storage, at most: files that state more are refused anyway.
const MAX_STORAGE: usize = 1 << 14;
/// Storages, at most.
const MAX_STORAGES: usize = 64;

/// An archive with that pickle and the storages that it names, each of the size that it states.
///
/// A checksum guards a pickle within an archive, so that an archive that was damaged tests the
/// reader of the pickle little. This way damaged pickles get past it.
pub(crate) fn archive(program: &[u8]) -> Option<Vec<u8>> {
    let (graph, _) = read(program, &limits()).ok()?;
    let mut writer = ZipWriter::new(Vec::new(), "archive");
    writer.record("data.pkl", program).ok()?;
    writer.record("byteorder", b"little").ok()?;
    for (_, pid) in graph.persistent_ids().take(MAX_STORAGES) {
        let Some((key, length)) = storage(&graph, pid) else {
            continue;
        };
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
        // One that is there already has been named twice.
        writer.record(&format!("data/{key}"), &bytes).ok();
    }
    writer.record("version", b"3\n").ok()?;
    writer.finish().ok()
}

/// Name and bytes of the storage that a persistent id names.
fn storage(graph: &Graph, pid: NodeId) -> Option<(&str, usize)> {
    let members = graph.sequence(pid)?;
    let (class, key, count) = (members.get(1)?, members.get(2)?, members.get(4)?);
    let size = match graph.global(*class)? {
        ("torch", name) => Dtype::from_storage_class(name)?.size(),
        _ => 1,
    };
    let length = usize::try_from(graph.int(*count)?)
        .ok()?
        .checked_mul(size)?;
    Some((graph.text(*key)?, length.min(MAX_STORAGE)))
}
