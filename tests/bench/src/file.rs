//! The files that are read, and the tensors that are written.

use std::path::{Path, PathBuf};

use nnx_checkpoint::torch::{TorchBuilder, TorchObject};
use nnx_checkpoint::{Dtype, Tensor};

use crate::Result;

/// Tensors of the large file.
pub(crate) const LARGE_TENSORS: usize = 64;
/// Elements of each: 16 MiB, 1 GiB in all.
const LARGE_ELEMENTS: usize = 1 << 22;

/// The large file in a folder, which is made when it is first asked for.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn large(folder: &Path) -> Result<PathBuf> {
    let path = name(folder, LARGE_TENSORS, LARGE_ELEMENTS);
    if path.exists() {
        return Ok(path);
    }
    state_dict(folder, LARGE_TENSORS, LARGE_ELEMENTS)
}

/// The tensors of the large file.
///
/// # Errors
/// None that the sizes allow.
pub(crate) fn large_tensors() -> Result<Vec<(String, Tensor)>> {
    tensors(LARGE_TENSORS, LARGE_ELEMENTS)
}

/// Writes a state dict of `count` float32 tensors of `elements` each, every one in a storage of its
/// own, as `torch.save` does.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn state_dict(folder: &Path, count: usize, elements: usize) -> Result<PathBuf> {
    let path = name(folder, count, elements);
    object(&tensors(count, elements)?)?.save(&path)?;
    Ok(path)
}

/// The object graph of a state dict.
///
/// # Errors
/// When a tensor cannot be written.
pub(crate) fn object(tensors: &[(String, Tensor)]) -> Result<TorchObject> {
    let mut builder = TorchBuilder::new();
    let mut pairs = Vec::new();
    for (name, tensor) in tensors {
        pairs.push((builder.text(name), builder.tensor(tensor)?));
    }
    let root = builder.ordered_dict(pairs, None);
    Ok(builder.finish(root))
}

fn tensors(count: usize, elements: usize) -> Result<Vec<(String, Tensor)>> {
    (0..count)
        .map(|index| {
            let numbers = (0..elements).map(|element| (index + element) as u32);
            let bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
            let tensor = Tensor::from_bytes(Dtype::Float32, &[elements], bytes)?;
            Ok((format!("layers.{index}.weight"), tensor))
        })
        .collect()
}

fn name(folder: &Path, count: usize, elements: usize) -> PathBuf {
    folder.join(format!("{count}x{elements}.pt"))
}
