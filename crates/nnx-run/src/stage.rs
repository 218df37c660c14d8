//! Files that are written under a temporary name and then renamed, so that readers see the old file
//! or the complete new one.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// The size of the write buffer in bytes.
const BUFFER_BYTES: usize = 1 << 17;

/// A complete file under a temporary name. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct Staged {
    file: NamedTempFile,
    target: PathBuf,
    /// The sha-256 digest of its bytes in lower-case hex.
    pub(crate) digest: String,
}

/// Whether a file must survive a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The file is flushed to the disk before it is renamed.
    Flushed,
    /// The file is not flushed, because nothing depends on it.
    None,
}

impl Staged {
    /// Writes a file under a temporary name in the folder of the target, which must exist. The digest
    /// is computed while the bytes are written.
    pub(crate) fn write(
        target: &Path,
        durability: Durability,
        write: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<Self> {
        let located = |error: Error| error.in_path(target);
        let file = temporary(target).map_err(|error| located(error.into()))?;
        let digest = {
            let mut out = Hashing {
                out: BufWriter::with_capacity(BUFFER_BYTES, file.as_file()),
                hash: Sha256::new(),
            };
            write(&mut out).map_err(located)?;
            out.flush().map_err(|error| located(error.into()))?;
            hex(&out.hash.finalize())
        };
        if durability == Durability::Flushed {
            let flushed = file.as_file().sync_all();
            flushed.map_err(|error| located(error.into()))?;
        }
        Ok(Self {
            file,
            target: target.to_path_buf(),
            digest,
        })
    }

    /// Renames the file to the target, in one step.
    pub(crate) fn publish(self) -> Result<()> {
        let Self { file, target, .. } = self;
        match file.persist(&target) {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::from(error.error).in_path(&target)),
        }
    }
}

/// Replaces a file as a whole, or not at all.
pub(crate) fn replace(
    target: &Path,
    durability: Durability,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    Staged::write(target, durability, write)?.publish()
}

/// [`replace`] for a text.
pub(crate) fn replace_text(target: &Path, text: &str) -> Result<()> {
    replace(target, Durability::Flushed, |out| {
        Ok(out.write_all(text.as_bytes())?)
    })
}

/// Flushes a folder, so that the names in it survive a loss of power.
///
/// Best effort: the data is already in place, and some file systems cannot flush a folder, so errors
/// are ignored.
#[cfg(unix)]
pub(crate) fn flush_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

#[cfg(not(unix))]
pub(crate) fn flush_folder(_folder: &Path) {}

/// Removes a file, if it exists.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::from(error).in_path(path))
        }
        _ => Ok(()),
    }
}

/// The sha-256 digest of a file's bytes in lower-case hex.
pub(crate) fn file_digest(path: &Path) -> Result<String> {
    let mut hash = Hashing {
        out: io::sink(),
        hash: Sha256::new(),
    };
    let copied = File::open(path).and_then(|mut file| io::copy(&mut file, &mut hash));
    copied.map_err(|error| Error::from(error).in_path(path))?;
    Ok(hex(&hash.hash.finalize()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A new file in the folder of the target, named as Python names its temporary files.
fn temporary(target: &Path) -> io::Result<NamedTempFile> {
    const RANDOM_CHARS: usize = 8;

    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let prefix = format!(".{}.", name.to_string_lossy());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).rand_bytes(RANDOM_CHARS);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The operating system applies the umask. Python's files keep the 0600 of its temporary files,
        // so that a server of another user cannot read the run; that is not copied here.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// A writer that hashes the bytes that it passes on.
#[derive(Debug)]
struct Hashing<W> {
    out: W,
    hash: Sha256,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
