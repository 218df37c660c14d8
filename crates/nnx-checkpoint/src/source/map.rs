//! The memory map: the only unsafe code of the workspace.

use std::fs::File;
use std::io;

use bytes::Bytes;
use memmap2::Mmap;

/// Maps a regular file, read-only.
pub(super) fn map(file: &File) -> io::Result<Bytes> {
    // Systems disagree on a map of zero bytes.
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the map is private to this process and never written through.
    // The one thing that Rust cannot rule out is another process that changes or truncates the file
    // in the meantime; `Source::open` states that risk and offers `Source::read` without it, and no
    // code of this crate relies on bytes that it checked once staying as they were for memory safety.
    #[expect(unsafe_code, reason = "a file can only be mapped by an unsafe call")]
    let map = unsafe { Mmap::map(file) }?;
    Ok(Bytes::from_owner(map))
}
