//! Saving a file whole or not at all.

use std::io::Write;
use std::path::Path;

use crate::error::{Error, Result};

/// Writes a file so that a reader sees the whole new one or the old one.
///
/// # Errors
/// When `write` fails or the operating system refuses; the target is then as it was.
pub fn save_atomic(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let _ = write;
    Err(Error::unsupported("not yet").in_path(path))
}
