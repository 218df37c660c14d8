//! Saving a file whole or not at all.

mod new_file;
mod orphans;

use std::io::{BufWriter, Write};
use std::path::Path;

pub(crate) use self::new_file::NewFile;
use crate::error::Result;

/// Bytes that are gathered before the operating system is asked to write them.
const BUFFER_BYTES: usize = 128 << 10;

/// Writes a file so that readers see the complete new one or the old one, whatever happens.
///
/// `write` fills a temporary file beside the target, which is flushed to the disk and renamed over
/// the target. When anything fails, or `write` panics, the target is as it was and nothing else is
/// left behind. A process that has mapped the old file keeps the old bytes.
///
/// - A process that is killed leaves its temporary file, hidden and named after the target, which
///   the next save of that target removes. Two processes that save one target at the same time do
///   not meet: the file is that of the last one to finish.
/// - A new file has the mode of any file the user creates, `0666` less the umask. NNx in Python
///   leaves `0600`, a trait of its temporary file that keeps a server under another user from
///   reading the checkpoint.
/// - A file that is replaced hands its mode on. Owner, links and other attributes are those of a
///   new file.
/// - A symbolic link stays, and its target is written.
/// - Missing parent directories are created, as NNx does; they stay when the save fails.
///
/// ```
/// use nnx_checkpoint::save_atomic;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("checkpoints/last.pt");
/// save_atomic(&path, |w| Ok(w.write_all(b"complete")?))?;
/// assert_eq!(std::fs::read(&path)?, b"complete");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When `write` fails, the target is a directory, a pipe, a socket or a device, its links lead in a
/// circle, or the operating system refuses. The error names the path.
pub fn save_atomic(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let path = path.as_ref();
    save(path, write).map_err(|error| error.in_path(path))
}

fn save(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let file = NewFile::beside(path)?;
    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, file.file());
    write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    file.sync()?;
    file.replace_target()
}

#[cfg(test)]
mod tests;
