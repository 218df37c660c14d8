//! Memory as the operating system gives it: the only unsafe code of the workspace.

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

/// Bytes of memory from which huge pages are worth a call.
#[cfg(target_os = "linux")]
const LEAST_BYTES: usize = 4 << 20;
/// Bytes of a page, or of several: advice is given for a range that begins and ends at a multiple.
#[cfg(target_os = "linux")]
const PAGE_BYTES: usize = 64 << 10;

/// Asks for huge pages below memory that is about to be filled for the first time. With small ones
/// the system stops the program once for each four kibibytes, which takes longer than to fill them.
#[cfg(target_os = "linux")]
pub(crate) fn prefer_huge_pages<T>(memory: &mut [T]) {
    let len = size_of_val(memory);
    if len < LEAST_BYTES {
        return;
    }
    let start = memory.as_mut_ptr();
    let skipped = start
        .addr()
        .next_multiple_of(PAGE_BYTES)
        .saturating_sub(start.addr());
    let rest = len.saturating_sub(skipped);
    let len = rest.saturating_sub(rest % PAGE_BYTES);
    // SAFETY: the range is within memory that this function has to itself, as it
    // begins at its first whole page and ends behind its last one, and the advice changes how the system
    // backs the range, never what is in it.
    // A refusal is ignored: pages stay small then.
    #[expect(
        unsafe_code,
        reason = "memory can only be advised on by an unsafe call"
    )]
    unsafe {
        let first = start.cast::<u8>().add(skipped);
        libc::madvise(first.cast(), len, libc::MADV_HUGEPAGE);
    }
}

/// Nothing to ask for here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn prefer_huge_pages<T>(_memory: &mut [T]) {}
