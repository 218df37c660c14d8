//! The hashes of tensors.

use std::fmt::Write as _;
use std::io;

use nnx::checkpoint::{ErrorKind, Tensor};
use sha2::{Digest, Sha256};

use super::contents::TensorLine;
use crate::failure::Failure;
use crate::layout;
use crate::opened::Opened;
use crate::parallel;
use crate::progress::{Progress, Unit};

/// The number of bytes that are hashed between two steps of the progress bar, for a tensor in
/// memory.
const STEP: usize = 1 << 22;

/// Computes the SHA-256 of each tensor over its elements in row-major order, little-endian.
///
/// If the elements are in this order in the file, only a part of them is in memory at a time.
pub(super) fn add(opened: &Opened, tensors: &mut [TensorLine]) -> Result<(), Failure> {
    let total = tensors
        .iter()
        .fold(0, |sum: u64, tensor| sum.saturating_add(tensor.bytes));
    let progress = Progress::new(total, Unit::Bytes, "hashing");
    let hashes = parallel::map(tensors, |tensor| {
        let Some(held) = with_bytes(opened, tensor)? else {
            return Ok(None);
        };
        let hash = digest(&held, &progress);
        hash.map(Some)
            .map_err(|error| error.in_tensor(&tensor.name))
    })?;
    for (tensor, hash) in tensors.iter_mut().zip(hashes) {
        tensor.sha256 = Some(hash);
    }
    Ok(())
}

/// The tensor; `None` for one that has no bytes, or whose elements do not begin at a byte.
fn with_bytes(opened: &Opened, line: &TensorLine) -> Result<Option<Tensor>, Failure> {
    if !layout::has_bytes(line.layout) {
        return Ok(None);
    }
    let Some(entry) = opened.entry(&line.name) else {
        return Ok(None);
    };
    match entry.unread_tensor() {
        Ok(tensor) => Ok(Some(tensor)),
        // A view that begins within a storage whose bytes contain several elements each.
        Err(error)
            if line.dtype.is_packed() && matches!(error.kind(), ErrorKind::Unsupported { .. }) =>
        {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn digest(tensor: &Tensor, progress: &Progress) -> Result<String, Failure> {
    let mut hashing = Hashing {
        hash: Sha256::new(),
        progress,
    };
    if tensor.byte_len() == tensor.storage().byte_len() {
        tensor.copy_to(&mut hashing)?;
    } else {
        // Other tensors may view the same storage: it is read once for all of them.
        for part in tensor.to_bytes()?.chunks(STEP) {
            hashing.take(part);
        }
    }
    let mut hex = String::new();
    for byte in hashing.hash.finalize() {
        // Writing to a `String` cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    Ok(hex)
}

/// Adds bytes to a hash, and counts them.
struct Hashing<'a> {
    hash: Sha256,
    progress: &'a Progress,
}

impl Hashing<'_> {
    fn take(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.progress.advance(bytes.len() as u64);
    }
}

impl io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
