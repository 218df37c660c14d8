//! The files that are read.

use std::path::{Path, PathBuf};

use nnx_checkpoint::torch::TorchBuilder;
use nnx_checkpoint::{Dtype, Tensor};

use crate::Result;

/// Writes a state dict of `count` float32 tensors of `elements` each, every one in a storage of its
/// own, as `torch.save` does.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn state_dict(folder: &Path, count: usize, elements: usize) -> Result<PathBuf> {
    let mut builder = TorchBuilder::new();
    let mut pairs = Vec::new();
    for index in 0..count {
        let numbers = (0..elements).map(|element| (index + element) as u32);
        let bytes: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
        let tensor = Tensor::from_bytes(Dtype::Float32, &[elements], bytes)?;
        let name = builder.text(&format!("layers.{index}.weight"));
        pairs.push((name, builder.tensor(&tensor)?));
    }
    let root = builder.ordered_dict(pairs, None);
    let path = folder.join(format!("{count}x{elements}.pt"));
    builder.finish(root).save(&path)?;
    Ok(path)
}
