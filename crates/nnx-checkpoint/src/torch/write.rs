//! Writing the zip container.

use std::io::Write;
use std::path::Path;
use std::thread;

use super::numbered::NumberedPickle;
use super::object::TorchObject;
use crate::error::{Error, Result};
use crate::save::save_atomic;
use crate::zip::ZipWriter;
use crate::{Limits, Storage};

/// Storages from this size on get their checksum from a thread of their own.
const LARGE_BYTES: usize = 1 << 20;

impl TorchObject {
    /// Writes the zip container that `torch.save` writes, with every record in the folder `root`
    /// (`archive` when Python saves to a file object, the file's stem when it saves to a path).
    ///
    /// # Errors
    /// When writing fails, a storage cannot be read, the object came from a legacy stream, whose
    /// references the zip container spells in another way, or it came from a TorchScript archive,
    /// whose program would be lost.
    pub fn write_to(&self, out: &mut dyn Write, root: &str) -> Result<()> {
        let graph = self.graph();
        if self.is_script() {
            return Err(Error::unsupported(
                "an object read from a TorchScript archive is not written, because its program is \
                 not read; write its tensors instead",
            ));
        }
        for (_, pid) in graph.persistent_ids() {
            if graph
                .sequence(pid)
                .is_some_and(|members| members.len() != 5)
            {
                return Err(Error::unsupported(
                    "an object read from a legacy stream is not written unchanged; write what it \
                     holds, such as its state dict, instead",
                ));
            }
        }
        let NumberedPickle { program, storages } =
            NumberedPickle::write(self, graph, &Limits::default())?;
        let mut zip = ZipWriter::new(out, root);
        let storages = storages
            .into_iter()
            .map(|index| self.storage_at(index))
            .collect::<Result<Vec<_>>>()?;
        let records = storages
            .iter()
            .map(|storage| (storage.byte_len() as u64, *storage));
        write_records(&mut zip, &program, records, write_storage)?;
        zip.finish()?;
        Ok(())
    }

    /// Saves to a path as `torch.save(object, path)` does, but atomically: the records' folder is
    /// named after the file, without its last extension, unless the path is not ASCII, in which case
    /// PyTorch writes to an open file and calls the folder `archive`.
    ///
    /// # Errors
    /// As for [`write_to`](Self::write_to); the target is unchanged then.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        save_atomic(path, |out| self.write_to(out, &archive_root(path)))
    }
}

/// The folder in the archive that `torch.save` puts the records of that path into.
pub(crate) fn archive_root(path: &Path) -> String {
    match path.to_str() {
        Some(text) if text.is_ascii() => path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default(),
        _ => "archive".to_owned(),
    }
}

/// Writes the bytes of a storage, and gives their CRC-32. Bytes that have to be computed or
/// inflated are not kept.
fn write_storage(w: &mut &mut dyn Write, storage: &Storage) -> Result<u32> {
    if !storage.is_mapped() || storage.byte_len() < LARGE_BYTES {
        let mut hasher = crc32fast::Hasher::new();
        storage.chunks(&mut |chunk| {
            hasher.update(chunk);
            Ok(w.write_all(chunk)?)
        })?;
        return Ok(hasher.finalize());
    }
    let bytes = storage.bytes()?;
    // Writing waits for the system, and the checksum for the memory.
    thread::scope(|scope| {
        let crc = scope.spawn(|| crc32fast::hash(bytes));
        w.write_all(bytes)?;
        crc.join().map_err(|panic| std::panic::resume_unwind(panic))
    })
}

/// Writes the records that `torch.save` writes, in its order, but for the id: `write` puts out the
/// content of each storage, given with its length, and returns the CRC-32. The storages have the
/// keys `0`, `1` and so on, as [`NumberedPickle`] gives them.
///
/// # Errors
/// When writing fails.
pub(crate) fn write_records<W: Write, T>(
    zip: &mut ZipWriter<W>,
    program: &[u8],
    storages: impl Iterator<Item = (u64, T)>,
    mut write: impl FnMut(&mut W, T) -> Result<u32>,
) -> Result<()> {
    zip.record("data.pkl", program)?;
    zip.record(".format_version", b"1")?;
    zip.record(".storage_alignment", b"64")?;
    zip.record("byteorder", b"little")?;
    for (key, (len, storage)) in storages.enumerate() {
        zip.record_with(&format!("data/{key}"), len, |w| write(w, storage))?;
    }
    zip.record("version", b"3\n")
}
