//! The pointer to the best run: the link `runs/best`, or the file `runs/best/POINTER.txt` where the
//! system has no links.

use std::fs;
use std::io;
use std::path::Path;

use nnx_params::validate_run_id;

use crate::error::{Error, Result};
use crate::layout::{BEST, read_text};
use crate::lock::{FileLock, is_absence};
use crate::stage::replace_text;

/// The file that names the run where there are no links.
const POINTER: &str = "POINTER.txt";
/// Bytes of that file.
const MAX_POINTER_BYTES: u64 = 1 << 16;

/// Waits for the lock under which the pointer is decided.
pub(crate) fn lock_pointer(runs: &Path) -> Result<FileLock> {
    let path = runs.join(".best.lock");
    FileLock::exclusive(&path).map_err(|error| Error::from(error).in_path(&path))
}

/// The id that the pointer names; `None` where there is no pointer, or its text cannot be an id.
pub(crate) fn read_pointer(runs: &Path) -> Result<Option<String>> {
    let pointer = runs.join(BEST);
    let text = match fs::read_link(&pointer) {
        Ok(target) => target.to_string_lossy().into_owned(),
        Err(error) if is_absence(&error) => return Ok(None),
        // Not a link, so it must be the other form.
        Err(_) => match read_text(
            &pointer.join(POINTER),
            "bytes of pointer",
            MAX_POINTER_BYTES,
        )? {
            Some(text) => text.trim().to_owned(),
            None => return Ok(None),
        },
    };
    // Python writes a path; the id is its last part, which has no separator of either system.
    let path = text.trim_end_matches(std::path::is_separator);
    let id = path.rsplit(['/', '\\']).next().unwrap_or_default();
    Ok(validate_run_id(id).is_ok().then(|| id.to_owned()))
}

/// Makes the pointer name a run, or removes it.
pub(crate) fn write_pointer(runs: &Path, id: Option<&str>) -> Result<()> {
    let pointer = runs.join(BEST);
    match id {
        Some(id) => point_to(runs, id),
        None => match fs::symlink_metadata(&pointer) {
            Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(&pointer),
            Ok(_) => fs::remove_file(&pointer),
            Err(error) if is_absence(&error) => Ok(()),
            Err(error) => Err(error),
        }
        .map_err(Error::from),
    }
    .map_err(|error| error.in_path(&pointer))
}

fn point_to(runs: &Path, id: &str) -> Result<()> {
    if link_to(runs, id).is_ok() {
        return Ok(());
    }
    let pointer = runs.join(BEST);
    fs::create_dir_all(&pointer)?;
    let target = runs.join(id);
    replace_text(&pointer.join(POINTER), &target.to_string_lossy())
}

/// Makes the link under another name and renames it, so that readers see the old link or the new
/// one. The link holds the bare id, so that the folder of runs can be moved.
fn link_to(runs: &Path, id: &str) -> io::Result<()> {
    let pointer = runs.join(BEST);
    let new = runs.join("best.tmp");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    make_link(id, &new)?;
    // A link cannot be renamed over a folder, which is the other form of the pointer.
    if fs::symlink_metadata(&pointer).is_ok_and(|metadata| metadata.is_dir()) {
        fs::remove_dir_all(&pointer)?;
    }
    fs::rename(&new, &pointer).inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}

#[cfg(unix)]
fn make_link(id: &str, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(id, path)
}

#[cfg(windows)]
fn make_link(id: &str, path: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(id, path)
}

#[cfg(not(any(unix, windows)))]
fn make_link(_id: &str, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
