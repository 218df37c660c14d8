//! Comparing the copies of a tensor that every rank has whole.

use crate::Tensor;
use crate::distributed::torch_file::TorchFile;
use crate::error::{DistributedFault, Error, Result};
use crate::pickle::NodeId;
use crate::torch::Layout;

/// Whether the copies have equal bytes. What has a checksum is not read where the checksums tell.
///
/// # Errors
/// When the copies differ in dtype or shape, or cannot be read.
pub(super) fn compare<'a>(copies: impl Iterator<Item = (&'a TorchFile, NodeId)>) -> Result<bool> {
    let mut first: Option<Tensor> = None;
    let mut are_equal = true;
    for (file, id) in copies {
        let info = file.object.tensor_info(id);
        let info = info.map_err(|error| error.in_path(&file.path))?;
        let has_bytes = info.is_some_and(|info| matches!(info.layout, Layout::Strided { .. }));
        // A sparse tensor and the like has no plain bytes.
        let Some(tensor) = (if has_bytes { file.tensor(id)? } else { None }) else {
            return Ok(true);
        };
        let Some(lowest) = &first else {
            first = Some(tensor);
            continue;
        };
        if (tensor.dtype(), tensor.shape()) != (lowest.dtype(), lowest.shape()) {
            return Err(Error::distributed(
                DistributedFault::RanksDisagree,
                format!(
                    "a rank has {} of shape {:?}, the lowest one has {} of shape {:?}",
                    tensor.dtype(),
                    tensor.shape(),
                    lowest.dtype(),
                    lowest.shape()
                ),
            )
            .in_path(&file.path));
        }
        are_equal = are_equal && have_equal_bytes(lowest, &tensor)?;
    }
    Ok(are_equal)
}

fn have_equal_bytes(a: &Tensor, b: &Tensor) -> Result<bool> {
    let layout = |of: &Tensor| {
        (
            of.offset(),
            of.strides().to_vec(),
            of.is_conj(),
            of.is_neg(),
        )
    };
    if layout(a) == layout(b) {
        let checksum = |of: &Tensor| -> Result<Option<(u32, u64)>> {
            let stored = of.storage().stored()?;
            Ok(stored.and_then(|stored| Some((stored.checksum()?, stored.range.byte_len()))))
        };
        if let (Some(of_a), Some(of_b)) = (checksum(a)?, checksum(b)?) {
            let is_whole = a.byte_len() == a.storage().byte_len();
            // Of storages that differ, the tensors may be parts that do not.
            if of_a == of_b || is_whole {
                return Ok(of_a == of_b);
            }
        }
    }
    Ok(a.to_bytes()? == b.to_bytes()?)
}
