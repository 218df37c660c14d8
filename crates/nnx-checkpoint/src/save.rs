//! Saving a file whole or not at all.

use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// Bytes that are gathered before the operating system is asked to write them.
const BUFFER_BYTES: usize = 128 << 10;
/// Links that are followed from one to the next, as many as Linux follows.
const MAX_LINKS: usize = 40;

/// Writes a file so that readers see the complete new one or the old one, whatever happens.
///
/// `write` fills a temporary file beside the target, which is flushed to the disk and renamed over
/// the target. When anything fails, or `write` panics, the target is as it was and nothing else is
/// left behind. A process that has mapped the old file keeps the old bytes.
///
/// - A new file has the mode of any file the user creates, `0666` less the umask. NNx in Python
///   leaves `0600`, a trait of its temporary file that keeps a server under another user from
///   reading the checkpoint.
/// - A file that is replaced hands its mode on. Owner, links and other attributes are those of a
///   new file.
/// - A symbolic link stays, and what it leads to is written.
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
    let target = resolve(path)?;
    let old = replaceable(&target)?;
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder)?;
    let temporary = temporary(&target, folder)?;
    if let Some(old) = old {
        keep_mode(temporary.as_file(), &old)?;
    }

    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, temporary.as_file());
    write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    temporary.as_file().sync_all()?;
    temporary.persist(&target).map_err(|error| error.error)?;
    sync_folder(folder);
    Ok(())
}

/// Follows symbolic links, also one that leads to no file yet.
fn resolve(path: &Path) -> Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(next) => {
                target = match target.parent() {
                    Some(parent) => parent.join(next),
                    None => next,
                };
            }
            // It is no link, or does not exist.
            Err(_) => return Ok(target),
        }
    }
    Err(Error::unsupported(format!(
        "more than {MAX_LINKS} symbolic links follow each other"
    )))
}

/// What is at the target, if anything: a rename would replace a device as readily as a file.
fn replaceable(target: &Path) -> Result<Option<Metadata>> {
    let old = match fs::symlink_metadata(target) {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if old.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    }
    if !old.is_file() {
        return Err(Error::unsupported(
            "expected a regular file to replace, found a pipe, a socket or a device",
        ));
    }
    Ok(Some(old))
}

/// A new file beside the target, hidden, and named after it so that its origin can be told.
fn temporary(target: &Path, folder: &Path) -> Result<NamedTempFile> {
    /// Characters of the target's name; with up to four bytes each the name stays below 255 bytes.
    const NAME_CHARS: usize = 48;

    let name: String = target
        .file_name()
        .ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?
        .to_string_lossy()
        .chars()
        .take(NAME_CHARS)
        .collect();
    let prefix = format!(".{name}.");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The operating system takes the umask off.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    Ok(builder.tempfile_in(folder)?)
}

#[cfg(unix)]
fn keep_mode(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

#[cfg(not(unix))]
fn keep_mode(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Makes the rename outlast a loss of power. The file is in place already, and some file systems
/// cannot do this, so a failure is none of the save.
#[cfg(unix)]
fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) {}

#[cfg(unix)]
#[cfg(test)]
mod tests;
