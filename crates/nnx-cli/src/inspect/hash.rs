//! The hashes of tensors.

use std::fmt::Write as _;

use nnx_checkpoint::Tensor;
use sha2::{Digest, Sha256};

use super::contents::TensorLine;
use crate::failure::Failure;
use crate::layout;
use crate::opened::Opened;
use crate::parallel;
use crate::progress::{Progress, Unit};

/// Bytes hashed between two steps of the progress bar.
const STEP: usize = 1 << 22;

/// Gives each tensor the SHA-256 of its elements in row-major order, little-endian.
///
/// Nothing is copied where the elements lie so in the file.
pub(super) fn add(opened: &Opened, tensors: &mut [TensorLine]) -> Result<(), Failure> {
    let total = tensors
        .iter()
        .fold(0, |sum: u64, tensor| sum.saturating_add(tensor.bytes));
    let progress = Progress::of(total, Unit::Bytes, "hashing");
    let hashes = parallel::map(tensors, |tensor| {
        if !layout::has_bytes(tensor.layout) {
            return Ok(None);
        }
        let hash = of(&opened.tensor(&tensor.name)?, &progress);
        hash.map(Some)
            .map_err(|error| error.in_tensor(&tensor.name))
    })?;
    for (tensor, hash) in tensors.iter_mut().zip(hashes) {
        tensor.sha256 = Some(hash);
    }
    Ok(())
}

fn of(tensor: &Tensor, progress: &Progress) -> Result<String, Failure> {
    let mut hash = Sha256::new();
    for part in tensor.to_bytes()?.chunks(STEP) {
        hash.update(part);
        progress.advance(part.len() as u64);
    }
    let mut hex = String::new();
    for byte in hash.finalize() {
        // A `String` takes whatever is written.
        let _ = write!(hex, "{byte:02x}");
    }
    Ok(hex)
}
